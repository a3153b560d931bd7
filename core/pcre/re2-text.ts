/**
 * Returns a text that RE2's binding searches to its end: with some versions of Node, the binding cuts the end
 * off a text that contains half of a surrogate pair. Indexes stay the same.
 */
export function toRe2Text(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}
