/** Beyond this many literals, an automaton finds the rest faster. */
const MAX_LITERALS = 8

/** Searches texts in ASCII for literals without line breaks, ignoring case. */
export class LiteralSearch {
  readonly #texts: readonly string[]
  #lowerCase: string | undefined
  /** What was found so far. */
  readonly #known = new Map<string, boolean>()

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  /** `literal` is in lower case. Undefined if too many others have been searched before. */
  contains(literal: string): boolean | undefined {
    const known = this.#known.get(literal)
    if (known !== undefined || this.#known.size >= MAX_LITERALS) return known
    this.#lowerCase ??= this.#texts.join('\n').toLowerCase()
    const isFound = this.#lowerCase.includes(literal)
    this.#known.set(literal, isFound)
    return isFound
  }
}
