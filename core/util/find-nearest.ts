/** The name that a mistyped word probably means: at most a third of its letters differ. */
export function findNearest(word: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  let least = Math.floor(word.length / 3) + 1
  for (const name of names) {
    const edits = countEdits(word, name)
    if (edits >= least) continue
    nearest = name
    least = edits
  }
  return nearest
}

/** The number of letters to insert, delete, replace, or swap with their neighbour. */
function countEdits(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row]
    rows.push(next)
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      next.push(
        Math.min(
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(from.length, to.length)
}
