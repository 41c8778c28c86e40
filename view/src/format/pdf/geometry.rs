//! Points, and the matrices that move them.

use std::ops::Mul;

/// A point, or the distance between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    pub(super) const ZERO: Point = Point { x: 0.0, y: 0.0 };

    pub(super) const fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    pub(super) fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }

    /// The distance from `other` to this point.
    pub(super) fn from(self, other: Point) -> Point {
        Point::new(self.x - other.x, self.y - other.y)
    }

    pub(super) fn length(self) -> f64 {
        self.x.hypot(self.y)
    }
}

/// An affine map, in the order in which PDF writes it: `a b c d e f`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const IDENTITY: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) const fn translation(x: f64, y: f64) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// The smallest upright rectangle around the image of a rectangle, as its lowest and its highest corner.
    pub(super) fn bounds(self, [x0, y0, x1, y1]: [f64; 4]) -> (Point, Point) {
        let corners = [(x0, y0), (x1, y0), (x0, y1), (x1, y1)].map(|(x, y)| self * Point::new(x, y));
        let of = |pick: fn(f64, f64) -> f64, start: f64| {
            let x = corners.iter().fold(start, |most, corner| pick(most, corner.x));
            let y = corners.iter().fold(start, |most, corner| pick(most, corner.y));
            Point::new(x, y)
        };
        (of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY))
    }
}

impl Mul<Point> for Matrix {
    type Output = Point;

    fn mul(self, Point { x, y }: Point) -> Point {
        let [a, b, c, d, e, f] = self.0;
        Point::new(a * x + c * y + e, b * x + d * y + f)
    }
}

/// The right map first, then the left one.
impl Mul for Matrix {
    type Output = Matrix;

    fn mul(self, Matrix([a2, b2, c2, d2, e2, f2]): Matrix) -> Matrix {
        let [a, b, c, d, e, f] = self.0;
        Matrix([
            a * a2 + c * b2,
            b * a2 + d * b2,
            a * c2 + c * d2,
            b * c2 + d * d2,
            a * e2 + c * f2 + e,
            b * e2 + d * f2 + f,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_map_of_a_product_comes_first() {
        let double = Matrix([2.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
        let moved = Matrix::translation(1.0, 0.0);
        let point = Point::new(3.0, 4.0);
        assert_eq!((double * moved) * point, Point::new(8.0, 8.0));
        assert_eq!((moved * double) * point, Point::new(7.0, 8.0));
        assert_eq!((double * moved) * point, double * (moved * point));
    }

    #[test]
    fn bounds_are_upright_around_what_is_turned() {
        let quarter = Matrix([0.0, 1.0, -1.0, 0.0, 0.0, 0.0]);
        assert_eq!(quarter.bounds([0.0, 0.0, 3.0, 1.0]), (Point::new(-1.0, 0.0), Point::new(0.0, 3.0)));
    }
}
