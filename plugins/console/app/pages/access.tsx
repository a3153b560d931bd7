import { endpointUrl } from '../lib/api.ts'
import { formatCount } from '../lib/format.ts'
import { href, pushQuery } from '../lib/router.ts'
import type { AccessEntry } from '../lib/schemas.ts'
import { CheckField } from '../ui/fields.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { PageLayout } from '../ui/page.tsx'
import { Badge, Time, type Tone } from '../ui/values.tsx'

const PATH = '/admin/access-review'

const FILTERS: readonly Filter[] = [
  { name: 'q', label: 'Name', type: 'text' },
  {
    name: 'kind',
    label: 'Kind',
    options: [
      ['', 'all'],
      ['operator', 'operators'],
      ['user', 'users'],
      ['root', 'ADMIN_KEY'],
    ],
  },
  {
    name: 'stale_days',
    label: 'Stale after',
    options: [
      ['30', '30 days'],
      ['', '90 days'],
      ['180', '180 days'],
      ['365', 'a year'],
    ],
  },
]

/** Who can do what, and what nobody seems to need any more. */
export function AccessPage() {
  const { stale = '' } = chosenFilters([{ name: 'stale' }])
  const chosen = { ...chosenFilters(FILTERS), stale }
  return (
    <PageLayout title="Access review">
      <p class="muted">
        Operators with their roles and what they see; users with the keys that are valid and the policies that
        apply. An export is recorded in the audit trail.
      </p>
      <Filters filters={FILTERS}>
        <CheckField
          label="Only stale ones"
          checked={stale === 'true'}
          onChange={(isOnly) => pushQuery({ stale: isOnly ? 'true' : undefined })}
        />
      </Filters>
      <PagedList<AccessEntry>
        path={PATH}
        query={{ ...chosen, limit: 500 }}
        empty={stale === 'true' ? 'Nothing is stale.' : 'Nobody matches. Choose fewer filters.'}
      >
        {(entries) => (
          <VirtualTable
            name="access-review"
            csv={endpointUrl(PATH, { ...chosen, format: 'csv' })}
            columns={COLUMNS}
            items={entries}
            keyOf={({ kind, id }) => `${kind} ${id}`}
          />
        )}
      </PagedList>
    </PageLayout>
  )
}

const KIND_TONES: Readonly<Record<AccessEntry['kind'], Tone>> = {
  root: 'bad',
  operator: 'info',
  user: 'plain',
}

type Finding = AccessEntry['findings'][number]

const FINDINGS: Readonly<Record<Finding, readonly [Tone, string]>> = {
  never_used: ['warn', 'never used'],
  unused: ['warn', 'unused'],
  unused_key: ['warn', 'a key is unused'],
  expired: ['warn', 'expired'],
  no_expiry: ['plain', 'key without expiry'],
  no_access: ['plain', 'no valid key'],
}

const COLUMNS: readonly Column<AccessEntry>[] = [
  { title: 'Who', value: ({ name }) => name, cell: (entry) => <Who {...entry} /> },
  {
    title: 'Kind',
    value: ({ kind }) => kind,
    cell: ({ kind }) => <Badge tone={KIND_TONES[kind]}>{kind}</Badge>,
  },
  { title: 'Role or plan', value: ({ role, plan }) => role ?? plan },
  { title: 'Groups', value: describeGroups },
  {
    title: 'Policies',
    value: ({ policies }) => policies.map(({ name }) => name).join(', '),
    cell: ({ policies }) =>
      policies.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a href={href(`/policies/${id}`)}>{name}</a>
        </span>
      )),
  },
  {
    title: 'Keys',
    kind: 'number',
    value: ({ kind, keys }) => (kind === 'user' ? keys.length : undefined),
    format: formatCount,
    cell: ({ kind, id, keys }) =>
      kind === 'user' ? (
        <a href={href('/keys', { user: id, state: 'active' })}>{formatCount(keys.length)}</a>
      ) : (
        '–'
      ),
  },
  {
    title: 'Last used',
    value: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at: time }) => (time ? <Time value={time} relative /> : time === null ? 'never' : '–'),
  },
  {
    title: 'Findings',
    value: ({ findings }) => findings.map((finding) => FINDINGS[finding][1]).join(', '),
    cell: ({ findings }) =>
      findings.map((finding) => {
        const [tone, text] = FINDINGS[finding]
        return (
          <span key={finding}>
            <Badge tone={tone}>{text}</Badge>{' '}
          </span>
        )
      }),
  },
]

function Who({ kind, id, name, identity }: AccessEntry) {
  const address = kind === 'user' ? href(`/users/${id}`) : href('/operators', { operator: id })
  return (
    <>
      {kind === 'root' ? <b>{name}</b> : <a href={address}>{name}</a>}
      {identity && <small class="muted block">{identity}</small>}
    </>
  )
}

/** Operators without groups see everything. */
function describeGroups({ kind, groups }: AccessEntry): string {
  if (groups === null) return kind === 'user' ? '' : 'everything'
  return groups.map(({ name }) => name).join(', ')
}
