import type { Rule } from '../lib/drafts.ts'
import { humanize, showHidden } from '../lib/format.ts'
import { groups, type Names, policies, users } from '../lib/names.ts'
import { listShares } from '../lib/rule-sentences.ts'

/** Fields that change with every write. */
const IGNORED = new Set([
  'updated_at',
  'created_at',
  'origin',
  'id',
  'user_id',
  'policy_id',
  'pattern_error',
  'revision',
])

/** Fields that forms call otherwise. */
export const FIELD_LABELS: Readonly<Record<string, string>> = {
  ...{ match_json: 'conditions', action_json: 'actions', match: 'conditions', is_enabled: 'enabled' },
  expires_at: 'expiry',
}

type Content = Readonly<Record<string, unknown>> | object | null | undefined

export interface FieldChange {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** Returns the fields that differ. */
export function diffFields(before: Content, after: Content): readonly FieldChange[] {
  const [old, now] = [toFields(before), toFields(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter(
      (field) =>
        !IGNORED.has(field) && JSON.stringify(old[field] ?? null) !== JSON.stringify(now[field] ?? null),
    )
    .map((field) => ({ field, before: old[field], after: now[field] }))
}

function toFields(content: Content): Record<string, unknown> {
  return { ...(content ?? {}) }
}

/** Lists and objects in words: `everyone: true`, `users: Ada, Grace`. */
function formatValue(value: unknown, field = ''): string {
  if (value === undefined || value === null) return ''
  if (field === 'split' && typeof value === 'object') return listShares(value)
  if (Array.isArray(value)) return value.map((item) => formatItem(item, field)).join(', ') || 'none'
  if (field === 'applies_to') return formatScope(value)
  if (typeof value === 'object') {
    const parts = Object.entries(value).map(([name, part]) => `${humanize(name)}: ${formatItem(part, name)}`)
    return parts.join(', ') || 'none'
  }
  if (typeof value !== 'number') return String(value)
  return NAMES[field]?.of(value) ?? String(value)
}

/** Whom a policy applies to: "everyone", or "users: Ada, Grace". */
function formatScope(scope: object): string {
  if ('everyone' in scope && scope.everyone) return 'everyone'
  const lists = Object.entries(scope).filter(([, ids]) => Array.isArray(ids) && ids.length > 0)
  return lists.map(([name, ids]) => `${name}: ${formatValue(ids, name)}`).join(', ') || 'nobody'
}

/** Objects within others are in parentheses. */
function formatItem(value: unknown, field: string): string {
  const text = formatValue(value, field)
  const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isNested && text !== 'none' ? `(${text})` : text
}

/** Fields that hold ids, and what these are called. */
const NAMES: Readonly<Record<string, Names>> = {
  ...{ users, user_id: users },
  ...{ groups, group_id: groups },
  policy_id: policies,
}

/** Also definitions of tools, which servers write. */
export const showValue = (value: unknown, field: string) => showHidden(formatValue(value, field)) || 'none'

/** Shows what a change does, field by field. */
export function Diff({ before, after }: { readonly before: Content; readonly after: Content }) {
  const changes = diffFields(before, after)
  if (changes.length === 0) return <p class="muted">No field differs.</p>
  return (
    <dl class="diff">
      {changes.map((change) => (
        <div key={change.field}>
          <dt>{FIELD_LABELS[change.field] ?? humanize(change.field)}</dt>
          <dd>
            {before && change.before !== undefined && <del>{showValue(change.before, change.field)}</del>}
            {after && change.after !== undefined && <ins>{showValue(change.after, change.field)}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const PLACES = {
  prompt: '',
  response: ' in replies',
  tool_call: ' in tool calls',
  tool_result: ' in results of tools',
} as const

/** What a rule looks for and does, in a line. */
export function summarizeRule(rule: Partial<Rule>): string {
  if (rule.pattern !== undefined) {
    const what = rule.type === 'substring' ? `“${rule.pattern}”` : `${rule.type} ${rule.pattern}`
    return what + (rule.scope === undefined ? '' : PLACES[rule.scope])
  }
  if (rule.match !== undefined)
    return Object.keys(rule.match).length === 0 ? 'always' : formatValue(rule.match)
  // Users do not see what rules of a policy look for, unless it shows that.
  if (rule.match_json === undefined) return 'only its name is shown'
  const isAlways = Object.keys(rule.match_json).length === 0
  return `${isAlways ? 'always' : formatValue(rule.match_json)} → ${formatValue(rule.action_json)}`
}
