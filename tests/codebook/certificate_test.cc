#include "orthant/codebook/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "orthant/codebook/codebook_io.h"
#include "orthant/codebook/lloyd_max.h"
#include "orthant/core/error.h"

namespace orthant::codebook {
namespace {

class Certificates : public testing::Test {
 protected:
  void SetUp() override {
    if (!proofs_available()) GTEST_SKIP() << "built without Arb";
  }
};

std::vector<double> copied(std::span<const double> values) { return {values.begin(), values.end()}; }

TEST_F(Certificates, EveryKindOfLawIsProved) {
  for (const std::int64_t d : {0, 1, 2, 3, 4, 5, 8, 128, 255, 256, 257, 1999, 2001, 10'000'000}) {
    for (const int bits : {0, 1, 2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << "d=" << d << " bits=" << bits);
      const CodebookFile file = certified_codebook(d, bits);
      EXPECT_EQ(faults(file), std::vector<std::string>());
      EXPECT_LT(file.residual, 1e-15);
      // The library's own table, found without a proof, is the same to the last bit.
      const Codebook book = d == 0 ? gaussian_codebook(bits) : sphere_codebook(d, bits);
      EXPECT_TRUE(std::ranges::equal(book.centroids(), file.codebook.centroids()));
      EXPECT_TRUE(std::ranges::equal(book.boundaries(), file.codebook.boundaries()));
      EXPECT_EQ(book.distortion(), file.codebook.distortion());
      EXPECT_EQ(book.entropy(), file.codebook.entropy());
    }
  }
}

TEST_F(Certificates, SurviveTheFile) {
  const CodebookFile file = certified_codebook(128, 4);
  const CodebookFile read = parse_codebook(to_json(file), "memory");
  ASSERT_TRUE(read.certificate);
  EXPECT_EQ(to_json(read), to_json(file));
  EXPECT_EQ(faults(read), std::vector<std::string>());
}

/// The file with one number moved by one unit in the last place.
struct Moved {
  const char* what;
  CodebookFile file;
};

std::vector<Moved> moved_by_one_ulp(const CodebookFile& file) {
  const Codebook& book = file.codebook;
  const double up = std::numeric_limits<double>::infinity();
  const auto rebuilt = [&](std::vector<double> c, std::vector<double> t, double distortion, double entropy) {
    CodebookFile copy = file;
    copy.codebook = Codebook(book.density(), book.dim(), book.bits(), std::move(c), std::move(t), distortion, entropy);
    return copy;
  };
  std::vector<Moved> all;
  std::vector<double> c = copied(book.centroids());
  std::vector<double> t = copied(book.boundaries());
  for (double& x : c) {
    const double before = x;
    x = std::nextafter(x, up);
    all.push_back({"centroids", rebuilt(c, t, book.distortion(), book.entropy())});
    x = before;
  }
  for (double& x : t) {
    const double before = x;
    x = std::nextafter(x, up);
    all.push_back({"boundaries", rebuilt(c, t, book.distortion(), book.entropy())});
    x = before;
  }
  all.push_back({"distortion", rebuilt(c, t, std::nextafter(book.distortion(), up), book.entropy())});
  all.push_back({"entropy", rebuilt(c, t, book.distortion(), std::nextafter(book.entropy(), 0))});
  CodebookFile other = file;
  other.probabilities[1] = std::nextafter(other.probabilities[1], up);
  all.push_back({"probabilities", other});
  return all;
}

// Planted faults: no number can move in its last bit.
TEST_F(Certificates, OneUlpAnywhereIsAFault) {
  const CodebookFile file = certified_codebook(128, 3);
  for (const Moved& moved : moved_by_one_ulp(file)) {
    const std::vector<std::string> found = faults(moved.file);
    const bool named = std::ranges::any_of(found, [&](const std::string& f) { return f.starts_with(moved.what); });
    EXPECT_TRUE(named) << moved.what << ": " << testing::PrintToString(found);
  }
}

TEST_F(Certificates, AChangedCertificateIsAFault) {
  const CodebookFile file = certified_codebook(8, 2);
  const auto first_fault = [&](auto change) {
    CodebookFile copy = file;
    change(copy);
    const std::vector<std::string> found = faults(copy);
    return found.empty() ? std::string() : found.front();
  };
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate.reset(); }).starts_with("certificate"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate->digits = 61; }).starts_with("certificate.digits"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate->radius = 1e-41; }).starts_with("certificate.radius"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate->distortion += "1"; }).starts_with("certificate.dist"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate->entropy += "1"; }).starts_with("certificate.entropy"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.certificate->uniqueness = "-"; }).starts_with("certificate.unique"));
  EXPECT_TRUE(first_fault([](CodebookFile& f) { f.residual = 1e-12; }).starts_with("residual"));
}

TEST_F(Certificates, ATableOfAnotherLawIsAFault) {
  CodebookFile file = certified_codebook(64, 4);
  const Codebook& book = file.codebook;
  file.codebook = Codebook("sphere", 128, 4, copied(book.centroids()), copied(book.boundaries()), book.distortion(),
                           book.entropy());
  ASSERT_EQ(faults(file).size(), 1U);
  EXPECT_TRUE(faults(file).front().starts_with("not an optimum"));
  file.codebook =
      Codebook("cauchy", 0, 4, copied(book.centroids()), copied(book.boundaries()), book.distortion(), book.entropy());
  EXPECT_THROW(faults(file), InvalidArgument);
}

TEST(CertifiedCodebook, OutOfRangeIsRefused) {
  EXPECT_THROW(certified_codebook(-1, 4), InvalidArgument);
  EXPECT_THROW(certified_codebook(128, 11), InvalidArgument);
  EXPECT_THROW(certified_codebook(128, -1), InvalidArgument);
}

}  // namespace
}  // namespace orthant::codebook
