#include "orthant/transform/key_frame.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "orthant/core/error.h"
#include "orthant/core/rng.h"
#include "orthant/transform/turned_moments.h"

namespace orthant::transform {
namespace {

Matrix<float> random_rows(std::size_t n, std::size_t d, std::uint64_t trial) {
  Matrix<float> x(n, d);
  RngStream(2, Domain::kData, trial).fill_normal(std::span(x.data(), n * d));
  return x;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return sum;
}

const std::size_t kTiles[] = {Alignment::kNone, Alignment::kBeforeRope, 3, 16, 64};

TEST(KeyFrame, EnteringAndLeavingGivesTheKeysBack) {
  const std::size_t d = 12;
  for (const RopeLayout layout : {RopeLayout::kNone, RopeLayout::kHalf, RopeLayout::kInterleaved})
    for (const std::size_t tile : kTiles)
      for (const bool rotating : {false, true}) {
        const Matrix<float> mean = random_rows(1, d, 1), keys = random_rows(50, d, 2);
        const KeyFrame frame(
            Rope(layout, d, 10000), {tile},
            rotating ? std::vector<float>(mean.row(0).begin(), mean.row(0).end()) : std::vector<float>());
        Matrix<float> framed(50, d);
        frame.enter(keys.view(), 11, framed.view());
        frame.leave(framed.view(), 11, framed.view());
        // Two turns and two additions of values below 10, each rounded relative 2^-24.
        for (std::size_t i = 0; i < 50; ++i)
          for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(framed(i, j), keys(i, j), 8 * 10 * 6e-8);
      }
}

TEST(KeyFrame, ScoresAreKeptWhenTheQueryEntersTheTile) {
  const std::size_t d = 16, first = 5;
  const Rope rope(RopeLayout::kHalf, d, 100);
  const Matrix<float> keys = random_rows(40, d, 3), query = random_rows(1, d, 4), mean = random_rows(1, d, 5);
  for (const std::size_t tile : kTiles) {
    const KeyFrame frame(rope, {tile}, std::vector<float>(mean.row(0).begin(), mean.row(0).end()));
    Matrix<float> framed(40, d), turned(1, d);
    std::vector<float> taken(d);
    frame.enter(keys.view(), first, framed.view());
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t position = first + i;
      frame.enter_queries(query.view(), frame.alignment().tile_start(position), turned.view());
      frame.mean_at(position, taken);
      const double score = dot(turned.row(0), framed.row(i)) + dot(turned.row(0), taken);
      EXPECT_NEAR(score, dot(query.row(0), keys.row(i)), 2e-5) << "tile " << tile << ", key " << i;
    }
  }
}

TEST(KeyFrame, BeforeRopeAKeyIsWhatItWas) {
  const std::size_t d = 8;
  const Rope rope(RopeLayout::kInterleaved, d, 10000);
  const Matrix<float> kappa = random_rows(20, d, 6);
  Matrix<float> keys(20, d);
  for (std::size_t i = 0; i < 20; ++i)
    rope.turn(kappa.view().middle_rows(i, 1), static_cast<double>(100 + i), keys.view().middle_rows(i, 1));
  const KeyFrame frame(rope, {Alignment::kBeforeRope});
  frame.enter(keys.view(), 100, keys.view());
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(keys(i, j), kappa(i, j), 2e-6);
}

TEST(KeyFrame, RefusesAMeanOfAnotherSize) {
  EXPECT_THROW(KeyFrame(Rope(RopeLayout::kNone, 4, 0), {}, std::vector<float>(3)), InvalidArgument);
}

TEST(AverageTurned, IsTheAverageOverEveryOffset) {
  const std::size_t d = 10;
  for (const RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const Rope rope(layout, d, std::vector<double>{1.0, 0.3, 0.3, 0.0});  // two coordinates do not turn
    SecondMoments m(d);
    m.add(random_rows(30, d, 7).view());
    const std::vector<std::uint64_t> spans = {5, 7};
    Matrix<double> direct(d, d), closed = m.second_moment();
    std::vector<double> direct_mean(d), closed_mean(m.mean().begin(), m.mean().end());
    for (int u = 0; u < 5; ++u)
      for (int v = 0; v < 7; ++v) {
        SecondMoments turned = m;
        turned.turn(rope, u + v);
        const Matrix<double> s = turned.second_moment();
        for (std::size_t i = 0; i < d; ++i) {
          direct_mean[i] += turned.mean()[i] / 35;
          for (std::size_t j = 0; j < d; ++j) direct(i, j) += s(i, j) / 35;
        }
      }
    average_turned_moment(rope, spans, closed.view());
    average_turned_mean(rope, spans, closed_mean);
    for (std::size_t i = 0; i < d; ++i) {
      EXPECT_NEAR(closed_mean[i], direct_mean[i], 1e-13);
      for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(closed(i, j), direct(i, j), 1e-13) << i << ' ' << j;
    }
  }
}

TEST(AverageTurned, NoSpanAndSpansOfOneChangeNothingAndFastPairsForget) {
  const Rope rope(RopeLayout::kHalf, 2, 10000);
  Matrix<double> s(2, 2);
  s(0, 0) = 9, s(0, 1) = s(1, 0) = 2, s(1, 1) = 1;
  average_turned_moment(rope, {}, s.view());
  average_turned_moment(rope, std::vector<std::uint64_t>{1, 1}, s.view());
  EXPECT_DOUBLE_EQ(s(0, 0), 9);
  EXPECT_DOUBLE_EQ(s(0, 1), 2);
  average_turned_moment(rope, std::vector<std::uint64_t>{1000000}, s.view());
  EXPECT_NEAR(s(0, 0), 5, 1e-4);  // one radian a step: the average over many is isotropic, to O(1 / n)
  EXPECT_NEAR(s(0, 1), 0, 1e-4);
  EXPECT_NEAR(s(0, 0) + s(1, 1), 10, 1e-12);
  EXPECT_THROW(average_turned_moment(rope, std::vector<std::uint64_t>{0}, s.view()), InvalidArgument);
  // A frequency of a whole turn a step turns nothing.
  const Rope whole(RopeLayout::kHalf, 2, std::vector<double>{2 * 3.14159265358979323846});
  std::vector<double> mean = {3, 4};
  average_turned_mean(whole, std::vector<std::uint64_t>{1000}, mean);
  EXPECT_NEAR(mean[0], 3, 1e-9);
}

// What frame_moments promises, against keys that really are turned: every position of the context once.
TEST(FrameMoments, AreThoseOfTheFramedKeys) {
  const std::size_t d = 8, context = 96, copies = 20;
  const Rope rope(RopeLayout::kHalf, d, 50);
  const Matrix<float> kappa = random_rows(copies, d, 8);
  Matrix<float> shifted = kappa;
  for (std::size_t i = 0; i < copies; ++i)
    for (std::size_t j = 0; j < d; ++j) shifted(i, j) += j % 3 == 0 ? 4.0F : 0.0F;
  SecondMoments before(d);
  before.add(shifted.view());
  const std::vector<float> mu(before.mean().begin(), before.mean().end());
  for (const std::size_t tile : {std::size_t{0}, std::size_t{1}, std::size_t{32}})
    for (const Centre centre : {Centre::kNone, Centre::kMean, Centre::kRotating}) {
      const KeyFrame frame(rope, {tile}, centre == Centre::kRotating ? mu : std::vector<float>());
      SecondMoments seen(d);
      Matrix<float> key(1, d);
      for (std::size_t t = 0; t < context; ++t)  // each of the keys at each of the positions
        for (std::size_t i = 0; i < copies; ++i) {
          rope.turn(shifted.view().middle_rows(i, 1), static_cast<double>(t), key.view());
          frame.enter(key.view(), t, key.view());
          seen.add(key.view());
        }
      const FrameMoments expected = frame_moments(before, before, rope, {tile}, centre, context, context);
      const Matrix<double> moment = centre == Centre::kMean ? seen.covariance() : seen.second_moment();
      for (std::size_t i = 0; i < d; ++i) {
        EXPECT_NEAR(expected.mean[i], centre == Centre::kMean ? seen.mean()[i] : 0, 2e-6);
        for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(expected.key_covariance(i, j), moment(i, j), 2e-5);
      }
    }
}

TEST(FrameMoments, QueriesMeetTilesAtEveryDistance) {
  const std::size_t d = 4, tile = 4, distances = 10;
  const Rope rope(RopeLayout::kHalf, d, 20);
  SecondMoments queries(d);
  queries.add(random_rows(7, d, 9).view());
  Matrix<double> direct(d, d);
  for (std::size_t u = 0; u < tile; ++u)
    for (std::size_t v = 0; v < distances; ++v) {
      Matrix<double> s = queries.second_moment();
      rope.turn_moment(s.view(), static_cast<double>(u + v));
      for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) direct(i, j) += s(i, j) / (tile * distances);
    }
  const FrameMoments m = frame_moments(queries, queries, rope, {tile}, Centre::kMean, 1000, distances);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(m.query_moment(i, j), direct(i, j), 1e-12);
  EXPECT_THROW(frame_moments(queries, queries, rope, {tile}, Centre::kMean, 1000, 0), InvalidArgument);
  EXPECT_THROW(frame_moments(queries, queries, rope, {}, Centre::kMean, 0, 10), InvalidArgument);
  EXPECT_THROW(frame_moments(queries, SecondMoments(3), rope, {}, Centre::kMean, 1, 1), InvalidArgument);
}

}  // namespace
}  // namespace orthant::transform
