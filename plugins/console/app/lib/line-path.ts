/**
 * Returns the path of a line that is interrupted where there is no value. A value between two gaps is a dot:
 * a line of no length, of which only the round ends are drawn.
 */
export function toLinePath(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  return values
    .map((value, index) => {
      if (value === null) return ''
      const isFirst = (values[index - 1] ?? null) === null
      const isLast = (values[index + 1] ?? null) === null
      const point = `${isFirst ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`
      return isFirst && isLast ? `${point}h0` : point
    })
    .join('')
}
