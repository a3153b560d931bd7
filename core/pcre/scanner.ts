/** A cursor over the source text of a pattern. */
export class Scanner {
  readonly text: string
  position = 0

  constructor(text: string) {
    this.text = text
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length
  }

  isNext(expected: string): boolean {
    return this.text.startsWith(expected, this.position)
  }

  /** Consumes `expected` if it comes next; returns whether it did. */
  consume(expected: string): boolean {
    const isFound = this.isNext(expected)
    if (isFound) this.position += expected.length
    return isFound
  }

  /** Consumes a match of the sticky expression at the current position; undefined if it does not match. */
  consumeMatch(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.position
    const match = expression.exec(this.text)
    if (match === null) return undefined
    this.position = expression.lastIndex
    return match
  }

  /** Consumes one code point. Must not be called at the end of the text. */
  consumeCodePoint(): number {
    const code = this.text.codePointAt(this.position) ?? 0
    this.position += code > 0xffff ? 2 : 1
    return code
  }
}
