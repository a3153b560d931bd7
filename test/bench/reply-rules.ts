import { EVADABLE_PATTERNS, prose } from '../support/evasion.ts'
import { inspectReply, textEvents, textOf } from '../support/inspected-reply.ts'
import { firewallRule } from '../support/rules.ts'

const substrings = Array.from({ length: 200 }, (_, n) => ({ pattern: `classified document ${n}` }))
const published = EVADABLE_PATTERNS.map(({ pattern }) => ({ type: 'regex' as const, pattern }))
const bounded = published.filter(({ pattern }) => !/\\\d\b/.test(pattern.slice(0, -2)))

const RULE_SETS = {
  '200 substrings': substrings,
  'an e-mail address': [{ type: 'regex' as const, pattern: '[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}' }],
  [`${bounded.length} published patterns without a back-reference`]: bounded,
  'a pattern without a bound, whose beginning is in the text': [
    { type: 'regex' as const, pattern: '/quick.*never/s' },
  ],
  'a back-reference': [{ type: 'regex' as const, pattern: '/\\b(\\w{4,})\\s+\\1\\b/i' }],
}

/** As models send them: a word with the space in front of it. */
const TOKENS = prose(4000).match(/\s*\S+/g) ?? []

/**
 * Measures when the first text of a stream is sent, and how many tokens are held, in part at least; and the
 * time that the rules take for a token, in microseconds.
 */
export async function measureReplyRules(): Promise<readonly [string, string][]> {
  const rows: [string, string][] = []
  for (const [name, fields] of Object.entries(RULE_SETS)) {
    const rules = fields.map((each) => firewallRule({ action: 'block', ...each }))
    const measure = async (tokens: readonly string[]) => {
      const begun = performance.now()
      const { steps, error } = await inspectReply(rules, textEvents(tokens))
      if (error !== undefined) throw error
      return { ms: performance.now() - begun, sent: steps.map((parts) => textOf(parts).length) }
    }
    const { sent } = await measure(TOKENS)
    const micros: number[] = []
    // Both compile the rules.
    for (let round = 0; round < 7; round++) {
      const { ms: empty } = await measure([])
      micros.push((((await measure(TOKENS)).ms - empty) / TOKENS.length) * 1000)
    }
    const median = micros.sort((a, b) => a - b)[3]?.toFixed(0)
    const first = sent.findIndex((length) => length > 0) + 1
    const held = countHeld(sent)
    const mean = (held.reduce((sum, count) => sum + count, 0) / held.length).toFixed(1)
    const figures = `first text with token ${first}, holds ${mean} (at most ${Math.max(...held)}), ${median} µs each`
    rows.push([`replies: ${name}`, figures])
  }
  return rows
}

/** The number of tokens of which something is held, after each token. */
function countHeld(sentLengths: readonly number[]): readonly number[] {
  let received = 0
  let sent = 0
  const ends: number[] = []
  return TOKENS.map((token, index) => {
    received += token.length
    ends.push(received)
    sent += sentLengths[index] ?? 0
    return ends.filter((end) => end > sent).length
  })
}
