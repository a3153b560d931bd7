/** Fields that change with every write. */
const IGNORED = new Set(['updated_at', 'created_at', 'origin', 'id', 'user_id', 'policy_id', 'pattern_error'])

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
    .filter((field) => !IGNORED.has(field) && formatValue(old[field]) !== formatValue(now[field]))
    .map((field) => ({ field, before: old[field], after: now[field] }))
}

function toFields(content: Content): Record<string, unknown> {
  return { ...(content ?? {}) }
}

function formatValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Shows what a change does, field by field. */
export function Diff({ before, after }: { readonly before: Content; readonly after: Content }) {
  const changes = diffFields(before, after)
  if (changes.length === 0) return <p class="muted">No field differs.</p>
  return (
    <dl class="diff">
      {changes.map((change) => (
        <div key={change.field}>
          <dt>{change.field}</dt>
          <dd>
            {before && change.before !== undefined && <del>{formatValue(change.before) || 'none'}</del>}
            {after && change.after !== undefined && <ins>{formatValue(change.after) || 'none'}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
