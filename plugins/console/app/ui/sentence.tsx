import type { ComponentChildren } from 'preact'
import { humanize } from '../lib/format.ts'
import { groups, policies, users } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import type { AuditEntry, Change } from '../lib/schemas.ts'
import { isOperator } from '../lib/session.ts'
import { diffFields, FIELD_LABELS, type FieldChange, showValue } from './diff.tsx'
import { ActorName, PolicyLink, UserLink } from './values.tsx'

/** An entry of the audit trail, or of the history of a rule. */
export type AuditedChange = (AuditEntry | Change) &
  Partial<Pick<AuditEntry, 'data' | 'user_id' | 'policy_id'>>

type Fields = Readonly<Record<string, unknown>>

/** Longer values are shown below the sentence. */
const MAX_LENGTH = 60

/** More fields are named in the sentence, and shown below it. */
const MAX_FIELDS = 3

/** Who changed what: `Ann changed the action of the firewall rule “No secrets” from warn to block`. */
export function Sentence({ entry }: { readonly entry: AuditedChange }) {
  const actor = <ActorName actor={entry.actor} />
  return (
    <>
      {isOperator() ? <a href={href('/audit', { actor: entry.actor.id })}>{actor}</a> : actor}{' '}
      {describeChange(entry)}
    </>
  )
}

/** True if the sentence says everything that has changed. */
export function isToldBySentence(entry: AuditedChange): boolean {
  const changes = changesOf(entry)
  return changes !== undefined && changes.length > 0 && isShort(changes)
}

/** The fields that differ; undefined if the entry does not have the object before and after. */
function changesOf({ before, after }: AuditedChange): readonly FieldChange[] | undefined {
  return before && after ? diffFields(before, after) : undefined
}

const isShort = (changes: readonly FieldChange[]) =>
  changes.length <= MAX_FIELDS &&
  changes.every(({ field, before, after }) =>
    [before, after].every((value) => showValue(value, field).length <= MAX_LENGTH),
  )

function describeChange(entry: AuditedChange): ComponentChildren {
  const subject = <Subject entry={entry} />
  const own = SENTENCES[`${entry.kind} ${entry.event}`]
  if (own !== undefined) return own(fieldsOf(entry), subject)
  const changes = changesOf(entry)
  if (changes === undefined || changes.length === 0)
    return [VERBS[entry.event] ?? humanize(entry.event), ' ', subject]
  const [first, ...others] = changes
  if (first?.field === 'is_enabled' && others.length === 0)
    return [first.after ? 'enabled ' : 'disabled ', subject]
  if (!isShort(changes)) return ['changed the ', listFields(changes), ' of ', subject]
  if (first && others.length === 0)
    return ['changed the ', fieldName(first), ' of ', subject, <FromTo {...first} />]
  return [
    'changed ',
    subject,
    ': ',
    ...changes.map((change, index) => [index > 0 && ', ', fieldName(change), <FromTo {...change} />]),
  ]
}

function FromTo({ field, before, after }: FieldChange) {
  return (
    <>
      {' from '}
      <del>{showValue(before, field)}</del> to <ins>{showValue(after, field)}</ins>
    </>
  )
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  ...FIELD_LABELS,
  applies_to: 'scope',
  is_enabled: 'state',
  type: 'kind of pattern',
}

const fieldName = ({ field }: FieldChange) => FIELD_NAMES[field] ?? humanize(field)

function listFields(changes: readonly FieldChange[]): string {
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(changes.map(fieldName))
}

const VERBS: Readonly<Record<string, string>> = {
  created: 'added',
  updated: 'changed',
  deleted: 'deleted',
  removed: 'removed',
  restored: 'restored',
  reverted: 'reverted',
  revoked: 'revoked',
  renamed: 'renamed',
}

type Describe = (fields: Fields, subject: ComponentChildren) => ComponentChildren

/** Sentences about more than the fields of an object. */
const SENTENCES: Readonly<Record<string, Describe>> = {
  'user added_to_group': (fields, subject) => ['added ', subject, ' to ', groupOf(fields)],
  'user removed_from_group': (fields, subject) => ['removed ', subject, ' from ', groupOf(fields)],
  'user identity_linked': (_, subject) => ['linked ', subject, ' to an identity'],
  'user identity_unlinked': (_, subject) => ['unlinked the identity of ', subject],
  'user budget_removed': (_, subject) => ['removed the budget of ', subject],
  'key created': (_, subject) => ['issued ', subject],
  'key budget_removed': (_, subject) => ['removed the budget of ', subject],
  'group budget_removed': (_, subject) => ['removed the budget of ', subject],
  'group claim_linked': (_, subject) => ['linked ', subject, ' to a claim'],
  'operator key_rotated': (_, subject) => ['rotated the key of ', subject],
  'access signed_in': () => 'signed in',
  'access signed_out': () => 'signed out',
  'access refused': ({ count, endpoint, code, address }) =>
    `was refused ${count === 1 ? 'once' : `${count} times`} at ${endpoint}: ${code}, from ${address}`,
  'access read': ({ read, path }) => `read ${read === 'export' ? 'an export' : 'recorded prompts'}: ${path}`,
  'access prompts_deleted': ({ prompts }) => `deleted ${prompts} recorded prompts`,
  'access ratings_imported': ({ ratings }) => `imported ${ratings} ratings`,
  'access ratings_deleted': ({ ratings }) => `deleted ${ratings} imported ratings`,
  'budget set': () => 'set the budget of everything',
  'budget removed': () => 'removed the budget of everything',
  'budget shadow_set': () => 'set the budget of copies',
  'budget shadow_removed': () => 'removed the budget of copies',
  'router trained': (_, subject) => ['trained ', subject],
  'router rolled_back': (_, subject) => ['rolled back to ', subject],
  'approval requested': ({ server, tool, ruleName }) =>
    `asked for an approval of ${tool} on ${server}, by the rule “${ruleName}”`,
  'tool_server tool_seen': (fields) => ['saw a new definition of ', toolOf(fields)],
  'tool_server tool_approved': (fields) => ['approved ', toolOf(fields)],
  'tool_server tool_rejected': (fields) => ['rejected ', toolOf(fields)],
  'tool_server tool_removed': (fields) => ['no longer found ', toolOf(fields)],
  'tool_server tool_returned': (fields) => ['found again ', toolOf(fields)],
  'tool_server tool_revisions_omitted': (fields) => ['left out old definitions of ', toolOf(fields)],
  'log created': () => 'created the event log',
}

/** Users are not told which group. */
const groupOf = ({ groupId }: Fields) =>
  groupId === undefined ? 'a group' : `the group “${groups.of(Number(groupId))}”`

const toolOf = ({ tool, revision }: Fields) =>
  `the tool “${tool}”${revision === undefined ? '' : `, revision ${revision}`}`

const fieldsOf = ({ data }: AuditedChange): Fields => data ?? {}

const KINDS: Readonly<Record<string, string>> = {
  routing: 'the routing rule',
  firewall: 'the firewall rule',
  tool: 'the tool rule',
  key: 'the key',
  user: 'the user',
  policy: 'the policy',
  group: 'the group',
  operator: 'the operator',
  tool_server: 'the tool server',
  router: 'version',
  approval: 'the approval',
}

const isRule = (kind: string) => kind === 'routing' || kind === 'firewall' || kind === 'tool'

/** What was changed, by its name, and whose it is. */
function Subject({ entry }: { readonly entry: AuditedChange }) {
  const { kind, id, user_id, policy_id } = entry
  const what = KINDS[kind] ?? humanize(kind)
  if (kind === 'user' && typeof id === 'number')
    return isOperator() ? (
      <>
        {what} <UserLink id={id} />
      </>
    ) : (
      <>you</>
    )
  const name = nameOf(entry)
  return (
    <>
      {what} {name === undefined ? id : <b>“{name}”</b>}
      {isRule(kind) && policy_id !== undefined && (
        <>
          {' '}
          of the policy{' '}
          <PolicyLink origin={{ id: policy_id, name: policies.of(policy_id) }} rule={`${kind}:${id}`} />
        </>
      )}
      {(isRule(kind) || kind === 'key') && user_id != null && isOperator() && (
        <>
          {' '}
          of <UserLink id={user_id} />
        </>
      )}
    </>
  )
}

/** As it was called then. */
function nameOf({ kind, id, before, after, data }: AuditedChange): string | undefined {
  const { name = Object(data?.content).name ?? Object(data?.changes).name } = before ?? after ?? data ?? {}
  if (typeof name === 'string') return name
  if (typeof id !== 'number') return undefined
  const known = kind === 'policy' ? policies : kind === 'group' ? groups : kind === 'user' ? users : undefined
  return known?.of(id)
}
