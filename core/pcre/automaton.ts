import RE2 from 're2'

/** One automaton for many patterns. */
export type Automaton = InstanceType<typeof RE2.Set>

/** Memory limit of an automaton in bytes. RE2 allocates the memory as new texts need it. */
const MAX_AUTOMATON_BYTES = 64 * 1024 * 1024

/** Builds one automaton for all patterns; returns undefined if RE2 rejects them. */
export function buildAutomaton(sources: readonly string[]): Automaton | undefined {
  try {
    return new RE2.Set(sources, 'u', { maxMem: MAX_AUTOMATON_BYTES })
  } catch {
    return undefined
  }
}

/**
 * Returns the indexes of the patterns that match any of the UTF-8 texts, unsorted; undefined if the automaton
 * ran out of memory.
 */
export function searchTexts(automaton: Automaton, texts: readonly Buffer[]): readonly number[] | undefined {
  try {
    const [only] = texts
    if (only !== undefined && texts.length === 1) return automaton.match(only)
    return texts.flatMap((text) => automaton.match(text))
  } catch {
    // Out of memory: the result is unknown, which is not the same as "no match".
    return undefined
  }
}

/** Encodes texts as UTF-8. Passing strings to RE2's binding takes twice as long on 1 KB. */
export function encodeTexts(texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

/** Patterns with these see where a text begins or ends, also as one of several lines. */
const TEXT_ANCHOR = /\\[Az]|\(\?m:[\^$]\)/

/** Whether the patterns match the texts, joined with line breaks, wherever they match one of them. */
export function isJoinable(sources: readonly string[]): boolean {
  return sources.every((source) => !TEXT_ANCHOR.test(source))
}

/** Joining fewer texts saves nothing. */
const MIN_JOINED_TEXTS = 8

/** Many short texts are first searched as one, for most requests match nothing. */
export function joinTexts(texts: readonly string[]): readonly string[] {
  return isWorthJoining(texts) ? [texts.join('\n')] : texts
}

export function isWorthJoining(texts: readonly string[]): boolean {
  return texts.length >= MIN_JOINED_TEXTS
}
