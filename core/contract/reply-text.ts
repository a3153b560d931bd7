import { type ExtraPart, ReplyEvent, type ReplyPart, type ReplyTransform } from './chat.ts'

/** Replaces or blocks phrases in replies, in any letter case. */
export interface PhraseReplacement {
  /** The longest one at a place counts. */
  readonly phrase: string | readonly string[]
  /** Default: nothing, so that the phrase is removed. */
  readonly replaceWith?: string
  /** Called for each phrase as the reply has it. May throw a `GatewayError`, which ends the reply. */
  onFound?(phrase: string): void
}

/** Replaces text of replies. */
export interface TextReplacement {
  /** What to replace; needs the flag `g`. */
  readonly pattern: RegExp
  readonly replacement: string
  /**
   * Number of characters that are held back until more text has arrived, at least the length of the longest
   * match with what the pattern looks ahead at. A longer match that spans more text is not found. As many
   * characters are kept after they were sent, for patterns that look behind.
   */
  readonly maxMatchLength: number
}

interface TextRule extends TextReplacement {
  onFound?(text: string): void
}

function toTextRule({ phrase, replaceWith = '', ...rest }: PhraseReplacement): TextRule {
  const phrases = [phrase].flat().toSorted((a, b) => b.length - a.length)
  if (phrases.length === 0 || phrases.includes('')) throw new TypeError('phrase must not be empty')
  const escaped = phrases.map((each) => each.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  const pattern = new RegExp(escaped.join('|'), 'giu')
  return { ...rest, pattern, replacement: replaceWith, maxMatchLength: phrases[0]?.length ?? 0 }
}

type TextKind = 'text' | 'reasoning' | 'refusal'

/**
 * Creates a transform that replaces text in replies, also where a match is split between the chunks of a
 * stream. It covers answers, reasoning, refusals, and the strings in arguments of tool calls; arguments are
 * held back until they are complete. Create one for each reply.
 */
export function createTextTransform(replacement: TextReplacement | PhraseReplacement): ReplyTransform {
  const rule = 'phrase' in replacement ? toTextRule(replacement) : replacement
  if (!rule.pattern.global) throw new TypeError('pattern must have the flag g')
  const texts = { text: new HeldText(rule), reasoning: new HeldText(rule), refusal: new HeldText(rule) }
  const toolCalls = new Map<number, string>()

  function transformPart(part: ReplyPart): readonly ReplyPart[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        return textPart(part.type, texts[part.type].push(part.text))
      case 'tool-json':
        toolCalls.set(part.index, (toolCalls.get(part.index) ?? '') + part.json)
        return []
      case 'extra':
        return [...(part.place === 'delta' ? [] : flushParts()), replaceInExtra(part, rule)]
      case 'tool-start':
      case 'finish':
        return [...flushParts(), part]
      default:
        return [part]
    }
  }

  function flushParts(): readonly ReplyPart[] {
    const parts = (['reasoning', 'text', 'refusal'] as const).flatMap((kind) =>
      textPart(kind, texts[kind].flush()),
    )
    const calls = [...toolCalls].map(
      ([index, json]): ReplyPart => ({ type: 'tool-json', index, json: replaceInJson(json, rule) }),
    )
    toolCalls.clear()
    return [...parts, ...calls]
  }

  const isHolding = () => toolCalls.size > 0 || Object.values(texts).some(({ isEmpty }) => !isEmpty)

  return {
    transform(event) {
      const isFirst = !isHolding()
      const parts = event.parts.flatMap(transformPart)
      if (isFirst && !isHolding() && sayTheSame(parts, event.parts)) return [event]
      return parts.length === 0 ? [] : [event.withParts(parts)]
    },
    flush() {
      const parts = flushParts()
      return parts.length === 0 ? [] : [new ReplyEvent(parts)]
    },
  }
}

function textPart(type: TextKind, text: string): readonly ReplyPart[] {
  return text === '' ? [] : [{ type, text }]
}

/** True if the parts have the same content, however it is divided into parts. */
function sayTheSame(parts: readonly ReplyPart[], others: readonly ReplyPart[]): boolean {
  return JSON.stringify(joinParts(parts)) === JSON.stringify(joinParts(others))
}

/** Joins the texts of each kind, and the arguments of each tool call. */
function joinParts(parts: readonly ReplyPart[]): Readonly<Record<string, string>> {
  const joined: Record<string, string> = {}
  for (const part of parts) {
    if (part.type === 'tool-json') {
      const key = `${part.type} ${part.index}`
      joined[key] = (joined[key] ?? '') + part.json
    } else if ('text' in part) joined[part.type] = (joined[part.type] ?? '') + part.text
  }
  return joined
}

/**
 * Text of one kind, of which the end is held back because a match could begin there. Matches are found in the
 * text as a whole, so that it does not matter where chunks end.
 */
class HeldText {
  readonly #rule: TextRule
  /** The end of what was sent, before it was replaced. */
  #sent = ''
  #held = ''

  constructor(rule: TextRule) {
    this.#rule = rule
  }

  get isEmpty(): boolean {
    return this.#held === ''
  }

  /** Adds text and returns what can be sent. */
  push(text: string): string {
    this.#held += text
    const end = this.#held.length - this.#rule.maxMatchLength
    if (end <= 0) return ''
    return this.#release(isInsidePair(this.#held, end) ? end - 1 : end, false)
  }

  /** Returns the rest. */
  flush(): string {
    return this.isEmpty ? '' : this.#release(this.#held.length, true)
  }

  /** Removes the first characters from what is held, and returns them with matches replaced. */
  #release(count: number, isLast: boolean): string {
    const { pattern, replacement, maxMatchLength } = this.#rule
    const text = this.#sent + this.#held
    let from = this.#sent.length
    let end = from + count
    let ready = ''
    pattern.lastIndex = from
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const { index, 0: matched } = match
      if (index >= end && !isLast) break
      if (index + matched.length > end) {
        // A match that reaches into the held text may still grow: it stays whole.
        end = index
        break
      }
      this.#rule.onFound?.(matched)
      ready += text.slice(from, index) + replacement
      from = index + matched.length
      if (matched === '') pattern.lastIndex += pattern.unicode && isInsidePair(text, from + 1) ? 2 : 1
    }
    pattern.lastIndex = 0
    ready += text.slice(from, end)
    // At least one character tells the pattern that the text does not begin here.
    this.#sent = text.slice(Math.max(0, end - Math.max(1, maxMatchLength)), end)
    this.#held = text.slice(end)
    return ready
  }
}

/** Whether an index separates the two halves of a surrogate pair. */
function isInsidePair(text: string, index: number): boolean {
  return (
    isBetween(text.charCodeAt(index - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(index), 0xdc00, 0xdfff)
  )
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}

function replace(text: string, { pattern, replacement, onFound }: TextRule): string {
  return text.replaceAll(pattern, (matched) => {
    onFound?.(matched)
    return replacement
  })
}

function replaceInExtra(part: ExtraPart, rule: TextRule): ExtraPart {
  const json = JSON.stringify(part.content)
  const replaced = replaceInJson(json, rule)
  return replaced === json ? part : { ...part, content: JSON.parse(replaced) }
}

const JSON_STRINGS = /"(?:[^"\\]|\\.)*"/g

/**
 * Replaces text in the strings of a JSON text, names of fields included, and leaves everything else as it is.
 * Text that is not JSON is treated as one string.
 */
function replaceInJson(json: string, rule: TextRule): string {
  if (!isJson(json)) return replace(json, rule)
  return json.replaceAll(JSON_STRINGS, (source) => {
    const text: string = JSON.parse(source)
    const replaced = replace(text, rule)
    return replaced === text ? source : JSON.stringify(replaced)
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
