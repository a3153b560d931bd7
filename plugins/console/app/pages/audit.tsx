import { endpointUrl, get } from '../lib/api.ts'
import { humanize } from '../lib/format.ts'
import { groupName } from '../lib/names.ts'
import { useResource } from '../lib/resource.ts'
import { href, route, setQuery } from '../lib/router.ts'
import { canReadPastRules, isOperator } from '../lib/session.ts'
import type { AuditEntry, OperatorRow } from '../lib/types.ts'
import { DateFilter } from '../ui/date-filter.tsx'
import { Diff } from '../ui/diff.tsx'
import { SelectField } from '../ui/fields.tsx'
import { FilterText } from '../ui/filter-text.tsx'
import { Empty, PageLayout } from '../ui/page.tsx'
import { PagedList } from '../ui/paged-list.tsx'
import { CallerFilters } from '../ui/pickers.tsx'
import { ActorName, Badge, PolicyLink, Time, UserLink } from '../ui/values.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ProofButton, VerificationBadge } from './verification.tsx'

const KINDS = ['routing', 'firewall', 'policy', 'group', 'user', 'key', 'budget', 'operator', 'access', 'log']

/** Parameters of the address that filter the entries. */
const FILTERS = ['kind', 'actor', 'q', 'user', 'group', 'policy', 'rule', 'since', 'until'] as const

const OWN_FILTERS = ['kind', 'actor', 'since', 'until'] as const

/** All changes, newest first: who, what, when and why. */
export function AuditPage() {
  const { query } = route.value
  const path = isOperator() ? '/admin/audit' : '/v1/audit'
  const filters = isOperator() ? FILTERS : OWN_FILTERS
  const chosen: Record<string, string> = {}
  for (const name of filters) chosen[name] = query.get(name) ?? ''
  const position = query.get('position')
  const range = position ? { since: position, until: position } : {}
  const others = ['policy', 'rule'].filter((name) => chosen[name])
  if (!isOperator() && chosen.actor) others.push('actor')
  return (
    <PageLayout title="Audit" actions={isOperator() && <VerificationBadge />}>
      <search class="filters">
        <SelectField
          label="Kind"
          value={chosen.kind ?? ''}
          options={[['', 'all'], ...(isOperator() ? KINDS : ['routing', 'firewall', 'user', 'key'])]}
          onChange={(kind) => setQuery({ kind })}
        />
        {isOperator() && <ActorFilter value={chosen.actor ?? ''} />}
        {isOperator() && <CallerFilters chosen={chosen} />}
        {isOperator() && <FilterText name="q" label="Text" value={chosen.q ?? ''} />}
        <DateFilter name="since" value={chosen.since ?? ''} />
        <DateFilter name="until" value={chosen.until ?? ''} isEnd />
        {[...others, ...(position ? ['position'] : [])].map((name) => (
          <button key={name} type="button" onClick={() => setQuery({ [name]: undefined })}>
            {name} {query.get(name)} ✕
          </button>
        ))}
        {isOperator() && (
          <span class="actions">
            <a class="button" href={endpointUrl(path, { ...chosen, format: 'csv' })} download="audit.csv">
              Export CSV
            </a>
            <a class="button" href={endpointUrl(path, { ...chosen, format: 'jsonl' })} download="audit.jsonl">
              JSON lines
            </a>
          </span>
        )}
      </search>
      <PagedList<AuditEntry>
        path={path}
        query={{ ...chosen, ...range, limit: 50, ...(isOperator() && { objects: true }) }}
      >
        {(entries) =>
          entries.length === 0 ? (
            <Empty>No changes match.</Empty>
          ) : (
            <VirtualList class="timeline" items={entries}>
              {(entry) => <Entry key={entry.position} entry={entry} />}
            </VirtualList>
          )
        }
      </PagedList>
    </PageLayout>
  )
}

/** Operators of now. Links lead to the changes of others. */
function ActorFilter({ value }: { readonly value: string }) {
  const operators = useResource('operators', () => get<readonly OperatorRow[]>('/admin/operators'))
  const known = [
    ['root', 'ADMIN_KEY'],
    ['cli', 'command line'],
    ['system', 'gateway'],
    ...(operators.data ?? []).map(({ id, name }) => [id, name]),
  ] as const
  const isOther = value !== '' && !known.some(([id]) => id === value)
  const options = [['', 'all'], ...known, ...(isOther ? [[value, value]] : [])] as [string, string][]
  return (
    <SelectField label="Actor" value={value} options={options} onChange={(actor) => setQuery({ actor })} />
  )
}

function Entry({ entry }: { readonly entry: AuditEntry }) {
  const { position, time, actor, kind, event, reason, no_effect, user_id, policy_id, group_id } = entry
  return (
    <li>
      <p>
        <Badge>{kind}</Badge>{' '}
        <b>
          {humanize(event)} {titleOf(entry)}
        </b>{' '}
        by{' '}
        <a href={href('/audit', { actor: actor.id })}>
          <ActorName actor={actor} />
        </a>{' '}
        · <Time value={time} />
      </p>
      {reason && <p class="reason">{reason}</p>}
      {no_effect && <p class="reason">Without effect: {no_effect}</p>}
      <p class="muted">
        <a href={href('/audit', { position })}>Position {position}</a>
        {user_id != null && (
          <>
            {' '}
            · user <UserLink id={user_id} />
          </>
        )}
        {policy_id !== undefined && (
          <>
            {' '}
            · <PolicyLink origin={{ type: 'policy', id: policy_id }} />
          </>
        )}
        {group_id !== undefined && ` · ${groupName(group_id)}`}
        {canReadPastRules() && (
          <>
            {' '}
            · <a href={href('/time', { at: position, user: user_id ?? undefined })}>Rules then</a>
          </>
        )}
        {isOperator() && (
          <>
            {' '}
            · <ProofButton position={position} />
          </>
        )}
      </p>
      <Content entry={entry} />
    </li>
  )
}

/** The name of what was changed, if the event has it; or else its id. */
function titleOf({ id, before, after, data }: AuditEntry): string {
  const { name } = after ?? before ?? flatten(data)
  return typeof name === 'string' ? name : String(id ?? '')
}

function Content({ entry: { before, after, data } }: { readonly entry: AuditEntry }) {
  if (before !== undefined || after !== undefined) return <Diff before={before} after={after} />
  const fields = flatten(data)
  return Object.keys(fields).length === 0 ? null : <Diff before={null} after={fields} />
}

/** The fields of an event: what it sets or changes, without the ids that are shown already. */
function flatten(data: AuditEntry['data'] = {}): Readonly<Record<string, unknown>> {
  const { content, changes, budget, ...others } = data
  const fields = Object.entries({
    ...others,
    ...toFields(content),
    ...toFields(changes),
    ...toFields(budget),
  })
  return Object.fromEntries(fields.filter(([name]) => !/(?:^|[a-z])Id$/.test(name)))
}

function toFields(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
