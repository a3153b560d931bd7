import type { ShownWhatIf } from '../../plugins/what-if/schemas.ts'
import { formatColumns } from './output.ts'

type Draft = ShownWhatIf['drafts'][number]

const SIGN = { add: '+', change: '~', remove: '-' }

/** Formats what drafts would have done, as tables. */
export function formatWhatIf(result: ShownWhatIf): readonly string[] {
  const { drafts, effects, cost_usd: cost, limitations } = result
  const changes = Object.entries(effects).filter(([name, requests]) => requests > 0 || name === 'unchanged')
  return [
    ...formatScope(result),
    '',
    ...formatColumns([['EFFECT', 'REQUESTS'], ...changes.map(([name, requests]) => [name, `${requests}`])]),
    '',
    ...(drafts.length === 0
      ? ['The file changes nothing.']
      : formatColumns([DRAFT_COLUMNS, ...drafts.flatMap(formatDraft)])),
    '',
    `Cost: ${formatUsd(cost.before)} -> ${formatUsd(cost.after)} (${formatChange(cost.change)})` +
      (cost.unknown > 0 ? `; unknown for ${formatCount(cost.unknown)}.` : '.'),
    ...formatLimits(result),
    ...formatReplies(result),
    ...formatToolCalls(result),
    ...limitations.map(({ message }) => message),
  ]
}

function formatLimits({ limits: { before, after } }: ShownWhatIf): readonly string[] {
  const names = Object.keys(before) as (keyof typeof before)[]
  const listed = names
    .filter((name) => before[name] > 0 || after[name] > 0)
    .map((name) => `${name} ${before[name]} -> ${after[name]}`)
  return listed.length === 0 ? [] : [`Requests under budgets and limits: ${listed.join(', ')}.`]
}

function formatReplies({ replies: { evaluated, not_evaluated } }: ShownWhatIf): readonly string[] {
  if (evaluated === 0 && not_evaluated.length === 0) return []
  const missing = not_evaluated.length === 0 ? '' : `; not evaluated: ${listReasons(not_evaluated)}`
  return [`Replies under response rules: ${evaluated} evaluated${missing}.`]
}

function formatToolCalls({ tool_calls: report }: ShownWhatIf): readonly string[] {
  const { calls, evaluated, is_truncated, effects, rules } = report
  if (calls === 0) return []
  const changes = Object.entries(effects).filter(([name, count]) => count > 0 || name === 'unchanged')
  const counts = (rule: (typeof rules)[number]) => [
    ...[rule.newly_denied, rule.newly_allowed, rule.newly_needing_approval].map(String),
  ]
  return [
    '',
    `${is_truncated ? 'The newest ' : ''}${calls === 1 ? '1 call' : `${calls} calls`} of tools; ` +
      `${evaluated} evaluated.`,
    '',
    ...formatColumns([['EFFECT', 'CALLS'], ...changes.map(([name, count]) => [name, `${count}`])]),
    ...(rules.length === 0
      ? []
      : [
          '',
          ...formatColumns([
            ['RULE', 'NEWLY DENIED', 'NEWLY ALLOWED', 'NEWLY NEEDING APPROVAL'],
            ...rules.map((rule) => [`${rule.kind} rule "${rule.name}"`, ...counts(rule)]),
          ]),
        ]),
    '',
  ]
}

function listReasons(reasons: readonly { readonly reason: string; readonly requests: number }[]): string {
  return reasons.map((entry) => `${entry.requests} ${entry.reason}`).join(', ')
}

function formatScope(result: ShownWhatIf): readonly string[] {
  const { requests, matching, evaluated, not_evaluated, is_truncated, since, until, reproduced } = result
  const scope = is_truncated ? `The newest ${requests} of ${matching} requests` : formatCount(requests)
  const { same, different, explained } = reproduced
  const differing = [...explained, ...(different > 0 ? [{ reason: 'different', requests: different }] : [])]
  return [
    `${scope} from ${since} to ${until}; ${evaluated} evaluated.`,
    ...(not_evaluated.length > 0 ? [`Not evaluated: ${listReasons(not_evaluated)}.`] : []),
    `Today's rules decide about ${same} as recorded` +
      (differing.length > 0 ? `, and otherwise about: ${listReasons(differing)}.` : '.'),
  ]
}

const DRAFT_COLUMNS = ['DRAFT', 'BEFORE', 'AFTER', 'CHANGED', 'BLOCKED', 'MASKED', 'WARNED', 'ROUTED']

function formatDraft(draft: Draft): readonly (readonly string[])[] {
  const { type, name, action, requests, changed, blocked, masked, warned, routed, rules } = draft
  const counts = [requests, changed, blocked, masked, warned, routed].map(String)
  return [
    [`${SIGN[action]} ${type} "${name}"`, '', ...counts],
    ...rules.map((rule) => [
      `  ${SIGN[rule.action]} ${rule.kind} rule "${rule.name}"`,
      ...[rule.before, rule.after, rule.changed].map(String),
      ...['', '', '', ''],
    ]),
  ]
}

function formatCount(requests: number): string {
  return requests === 1 ? '1 request' : `${requests} requests`
}

function formatUsd(usd: number): string {
  return `${Number(usd.toFixed(6))} USD`
}

function formatChange(usd: number): string {
  return `${usd > 0 ? '+' : ''}${formatUsd(usd)}`
}
