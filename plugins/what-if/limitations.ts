import type { RequestFilter } from '../ledger/index.ts'
import { findCoverage } from './budget-coverage.ts'
import type { DraftEvents } from './draft-events.ts'
import type { ListedPlugin, WhatIfOutcome } from './job.ts'
import type { WhatIfReport } from './schemas.ts'

interface Limitation {
  readonly code: string
  readonly message: string
}

interface Evaluated extends Omit<WhatIfOutcome, 'report'> {
  readonly drafts: Pick<DraftEvents, 'changesCopyBudget'>
  readonly filter: RequestFilter
  readonly report: Pick<WhatIfReport, 'limits' | 'requests' | 'evaluated' | 'matching'>
}

/** Which of the requests were not looked at. */
function listCoverage({ report, toolCalls }: Evaluated): readonly Limitation[] {
  const { requests, evaluated, matching } = report
  if (requests === 0)
    return toolCalls.calls > 0
      ? []
      : [{ code: 'no_requests', message: 'No request is recorded that passes the filters.' }]
  if (evaluated === 0 && toolCalls.evaluated === 0)
    return [
      {
        code: 'nothing_evaluated',
        message:
          'No request could be evaluated, so this says nothing about the drafts. Evaluation needs recorded ' +
          'prompts: set ledger.record_prompts and RECORD_KEY.',
      },
    ]
  if (matching <= requests) return []
  const only = `Only the newest ${requests} of ${matching} requests were evaluated.`
  return [{ code: 'limit', message: `${only} Raise the limit for more.` }]
}

/** Which calls of tools were not decided again. */
function listToolCoverage({ toolCalls }: Evaluated): readonly Limitation[] {
  const { calls, evaluated, is_truncated, not_evaluated } = toolCalls
  const limitations: Limitation[] = []
  const add = (message: string) => limitations.push({ code: 'tool_calls', message })
  for (const { reason, calls: count } of not_evaluated)
    add(`${countCalls(count)} of tools not decided again: ${TOOL_REASONS[reason] ?? reason}.`)
  if (is_truncated) add(`Only the newest ${calls} calls of tools were evaluated. Raise the limit for more.`)
  if (evaluated > 0) add('Results of tools, limits of calls and approvals are not evaluated.')
  return limitations
}

const countCalls = (calls: number) => (calls === 1 ? '1 call' : `${calls} calls`)

const TOOL_REASONS: Readonly<Record<string, string>> = {
  not_recorded: 'the arguments are not recorded, which needs ledger.record_prompts and RECORD_KEY',
  server_removed: 'there is no such tool server any more',
  user_deleted: 'the user was deleted',
}

/** Returns what an evaluation does not tell. */
export function listLimitations(evaluated: Evaluated): readonly Limitation[] {
  const limitations: Limitation[] = [
    ...listCoverage(evaluated),
    ...listToolCoverage(evaluated),
    ...GENERAL,
    ...listLimits(evaluated),
  ]
  if (!evaluated.inspectsReplies)
    limitations.push({
      code: 'response_rules',
      message:
        'Rules with the scope response are not in force: the setting firewall.evaluate_responses is off.',
    })
  for (const plugin of evaluated.plugins) {
    const message = describeReplay(plugin)
    if (message !== undefined) limitations.push({ code: 'plugin', message })
  }
  return limitations
}

/** Says what is not known about a plugin; undefined if it decides alike again. */
function describeReplay(plugin: ListedPlugin): string | undefined {
  const { name, replay, decides, actsElsewhere, decidesByEvents } = plugin
  if (replay !== undefined) return replay.why
  if (decidesByEvents) return `Plugin "${name}" decides without its own events, which are not read.`
  if (decides)
    return `Plugin "${name}" does not declare whether it decides alike again ("replay"); it did decide again.`
  if (actsElsewhere) return `Plugin "${name}" has no phase "decide", so what it does is not evaluated.`
}

/** What is not known about budgets and limits. */
function listLimits({ replays, drafts, filter, report }: Evaluated): readonly Limitation[] {
  const covered = findCoverage(filter)
  const limitations: Limitation[] = []
  const add = (code: string, message: string) => limitations.push({ code, message })
  if (replays.budgets) {
    const missing = Object.entries(OWNERS).filter(([type]) => !covered[type as keyof typeof OWNERS])
    if (missing.length > 0)
      add(
        'budgets',
        `Budgets of ${listNames(missing.map(([, name]) => name))} are not evaluated: ${LEFT_OUT}.`,
      )
    if (drafts.changesCopyBudget) add('budgets', 'The budget of copies is not evaluated.')
  }
  if (replays.rateLimits) {
    const subject = 'Limits of tokens and of requests at the same time'
    if (!covered.user) add('limits', `${subject} are not evaluated: ${LEFT_OUT}.`)
    else add('limits', `${subject} begin with the first request: those of the minute before are not counted.`)
  }
  const { estimated } = report.limits
  if (estimated > 0)
    add('estimated', `${countOf(estimated)} not sent then, so the most that they could cost counts.`)
  return limitations
}

const OWNERS = { user: 'users', key: 'keys', group: 'groups', all: 'everything' }

const LEFT_OUT = 'requests that the filters leave out count in them'

function listNames(names: readonly string[]): string {
  if (names.length < 3) return names.join(' and of ')
  return `${names.slice(0, -1).join(', of ')} and of ${names.at(-1)}`
}

function countOf(requests: number): string {
  return requests === 1 ? '1 request was' : `${requests} requests were`
}

/** See docs/decisions/what-if.md, "The catalogue's latencies are used". */
const GENERAL: readonly Limitation[] = [
  {
    code: 'automatic_choice',
    message:
      'Automatic choices use the latencies of the catalogue, and all models count as available: live ones ' +
      'follow measured latencies and open circuits.',
  },
]

const REASONS: Readonly<Record<string, string>> = {
  not_recorded: 'nothing is recorded to evaluate',
  refused: 'refused before all of the text was masked',
  too_long: 'longer than ledger.max_prompt_chars',
  queue_full: 'the ledger was away',
  no_key: 'recorded without a RECORD_KEY',
  unreadable: 'RECORD_KEY does not have the key',
  user_deleted: 'the user was deleted',
  rate_limited: 'refused by the limit of requests per minute, before the rules',
  model_unavailable: 'the model or its provider is not available any more',
  failed: 'a plugin failed',
  recorded_masked: 'stored after a response rule had masked it',
  other_model: 'another model would reply',
}

/** Adds the reason as a sentence about what is counted: requests or replies. */
export function explain<Entry extends { readonly reason: string; readonly requests: number }>(
  entry: Entry,
  counted: 'request' | 'reply',
): Entry & { readonly message: string } {
  const { reason, requests } = entry
  const subject = requests === 1 ? `1 ${counted} is` : `${requests} ${PLURALS[counted]} are`
  return { ...entry, message: `${subject} not evaluated: ${REASONS[reason] ?? reason}.` }
}

const PLURALS = { request: 'requests', reply: 'replies' }
