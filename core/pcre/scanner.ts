/** Reads a pattern from left to right. */
export class Scanner {
  readonly text: string
  position = 0

  constructor(text: string) {
    this.text = text
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length
  }

  /** Whether the text goes on with `expected`. */
  isNext(expected: string): boolean {
    return this.text.startsWith(expected, this.position)
  }

  /** Steps over `expected` if the text goes on with it. */
  consume(expected: string): boolean {
    const found = this.isNext(expected)
    if (found) this.position += expected.length
    return found
  }

  /** Steps over what the sticky expression matches here. */
  consumeMatch(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.position
    const match = expression.exec(this.text)
    if (match === null) return undefined
    this.position = expression.lastIndex
    return match
  }

  /** Steps over one code point; not to be called at the end. */
  consumeCodePoint(): number {
    const code = this.text.codePointAt(this.position) ?? 0
    this.position += code > 0xffff ? 2 : 1
    return code
  }
}
