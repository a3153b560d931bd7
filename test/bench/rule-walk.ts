import type { ChatRequest } from '../../core/contract/index.ts'
import type { CompiledFirewall } from '../../plugins/firewall/compile.ts'
import { RuleWalk } from '../../plugins/firewall/rule-walk.ts'
import { EVALUATION } from '../support/pattern-run.ts'

/**
 * Measures what the further looks of policies cost: a walk of a request over rule sets of which the last one
 * masks something, or nothing. Takes turns, and the best of each, because the difference is small.
 */
export async function measureRuleWalk(
  firewalls: readonly CompiledFirewall[],
): Promise<readonly [string, string][]> {
  const rows: [string, string][] = []
  for (const [what, word] of [
    ['nothing is masked', 'harmless'],
    ['the last set masks one of 20 messages', 'masked'],
  ] as const) {
    const messages = Array.from({ length: 20 }, (_, n) => ({
      role: n % 2 === 0 ? ('assistant' as const) : ('user' as const),
      content: `Message ${n} ${n === 19 ? word : ''} ${'lorem ipsum dolor sit amet '.repeat(40)}`,
    }))
    const request = { messages }
    const best = { once: Number.POSITIVE_INFINITY, settled: Number.POSITIVE_INFINITY }
    for (let round = 0; round < 100; round++)
      for (const kind of ['once', 'settled'] as const) {
        const begun = performance.now()
        for (let time = 0; time < CALLS; time++) await walk(firewalls, request, kind === 'settled')
        best[kind] = Math.min(best[kind], ((performance.now() - begun) / CALLS) * 1000)
      }
    rows.push([
      `3 policies of 100 rules, 20 KB: ${what}`,
      `${best.once.toFixed(1)} µs, with further looks ${best.settled.toFixed(1)} µs`,
    ])
  }
  return rows
}

const CALLS = 20

async function walk(
  firewalls: readonly CompiledFirewall[],
  request: ChatRequest,
  settles: boolean,
): Promise<void> {
  const shared = {}
  const walked = new RuleWalk({ ...EVALUATION, shared }, () => undefined)
  let current = request
  for (const firewall of firewalls) current = await walked.visit(firewall, current)
  if (settles) await walked.settle(current)
}
