import { useState } from 'preact/hooks'
import { ApiError, get, type Page, read } from '../lib/api.ts'
import { useAction, useResource } from '../lib/data.ts'
import { type EffectiveRules, KIND_TITLES, RULE_KINDS, type Rule } from '../lib/drafts.ts'
import { formatTime } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { navigate, route, setQuery } from '../lib/router.ts'
import type { AuditEntry } from '../lib/schemas.ts'
import { isOperator, root } from '../lib/session.ts'
import { UserPicker } from '../ui/combobox.tsx'
import { Diff, diffFields, summarizeRule } from '../ui/diff.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { Empty, ErrorMessage, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { Sentence } from '../ui/sentence.tsx'
import { Badge, RuleLine, Time } from '../ui/values.tsx'

/** The rules that applied to a user at any time, and how they differ from those of now. */
export function TimeTravelPage() {
  const { query } = route.value
  const chosen = query.get('user') ?? ''
  const first = useResource('first user', () =>
    isOperator() && !chosen ? users.first() : Promise.resolve(''),
  )
  const user = chosen || first.data || ''
  const [anchor, setAnchor] = useState(query.get('at') ?? undefined)
  const changes = useResource(`changes ${anchor}`, () => loadChanges(anchor))
  return (
    <PageLayout title="Time travel">
      <div class="filters">
        <WhyBlocked />
        {isOperator() && (
          <UserPicker label="Rules for" value={user} onChange={(user) => user && setQuery({ user })} />
        )}
        <JumpToTime
          onJump={(position) => {
            setQuery({ at: position })
            setAnchor(position)
          }}
        />
      </div>
      <ResourceView resource={first}>
        {() =>
          isOperator() && user === '' ? (
            <Empty>There are no users yet.</Empty>
          ) : (
            <ResourceView resource={changes}>
              {(loaded) => <Travel key={anchor} loaded={loaded} user={user} />}
            </ResourceView>
          )
        }
      </ResourceView>
    </PageLayout>
  )
}

/** Goes to the last change before a time. */
function JumpToTime({ onJump }: { readonly onJump: (position: string | undefined) => void }) {
  const [time, setTime] = useState('')
  const jump = useAction(async () => {
    const until = time === '' ? undefined : new Date(time).toISOString()
    const { entries } = await readChanges({ until, limit: 1 })
    const position = entries.at(-1)?.position
    if (position === undefined) throw new ApiError(0, 'No rule was changed before then.')
    onJump(time === '' ? undefined : String(position))
  })
  return (
    <Form class="filters" label="Go to a time" onSubmit={jump.start}>
      <TextField
        label="Time, or empty for now"
        type="datetime-local"
        value={time}
        onInput={setTime}
        issue={jump.error?.message}
      />
      <button type="submit">Go</button>
    </Form>
  )
}

/** Finds the rule that blocked a request. */
function WhyBlocked() {
  const [id, setId] = useState('')
  return (
    <Form
      class="filters"
      label="Why was a request blocked?"
      onSubmit={() => navigate(`/requests/${id.trim()}`)}
    >
      <TextField
        label="Why was this request blocked?"
        value={id}
        onInput={setId}
        required
        placeholder="req_…"
      />
      <button type="submit">Show</button>
    </Form>
  )
}

function Travel({ loaded, user }: { loaded: LoadedChanges; user: string }) {
  const [{ entries, cursor }, setChanges] = useState(loaded)
  const chosen = route.value.query.get('at')
  const at = chosen === null ? undefined : Number(chosen)
  // The last stop is now, which changes of others may have led to.
  const index =
    at === undefined
      ? entries.length
      : Math.max(
          0,
          entries.findLastIndex(({ position }) => position <= at),
        )

  const loadEarlier = useAction(async () => {
    const earlier = await readChanges({ cursor })
    setChanges({ entries: [...earlier.entries, ...entries], cursor: earlier.cursor })
  })

  const entry = entries[index]
  const path = isOperator() ? `/admin/users/${user}/effective-rules` : '/v1/rules/effective'
  const rules = useResource(`${path} ${at}`, async () => {
    const [now, past] = await Promise.all([
      get<EffectiveRules>(path),
      at === undefined ? undefined : get<EffectiveRules>(path, { as_of: at }),
    ])
    return { now, past: past ?? now }
  })
  return (
    <>
      <Panel
        title="Point in time"
        actions={
          cursor !== null && (
            <button type="button" disabled={loadEarlier.isBusy} onClick={loadEarlier.start}>
              {loadEarlier.isBusy ? 'Loading…' : 'Earlier changes'}
            </button>
          )
        }
      >
        {loadEarlier.error && <ErrorMessage error={loadEarlier.error} />}
        <label class="slider">
          <span class="hidden">Change, from the oldest to the newest</span>
          <input
            type="range"
            min="0"
            max={entries.length}
            value={index}
            aria-valuetext={entry ? formatTime(entry.time) : 'now'}
            onInput={(event) => {
              const chosen = entries[Number(event.currentTarget.value)]
              setQuery({ at: chosen && String(chosen.position) })
            }}
          />
        </label>
        {!entry && <p>Now. Move back to see the rules after an earlier change.</p>}
        {entry && (
          <p>
            <Time value={entry.time} /> · position {at} · after <Sentence entry={entry} />
            {entry.reason && <span class="muted"> “{entry.reason}”</span>}
          </p>
        )}
      </Panel>
      <ResourceView resource={rules}>
        {({ past, now }) => (
          <div class="grid">
            {RULE_KINDS.map((kind) => (
              <RulesThen key={kind} title={KIND_TITLES[kind]} then={past[kind]} now={now[kind]} />
            ))}
          </div>
        )}
      </ResourceView>
    </>
  )
}

/** The rules of then in evaluation order, with what became of them, and those that came later. */
function RulesThen({ title, then, now }: { title: string; then: readonly Rule[]; now: readonly Rule[] }) {
  const isNow = then === now
  const current = new Map(now.map((rule) => [rule.id, rule]))
  const old = new Set(then.map(({ id }) => id))
  const later = now.filter(({ id }) => !old.has(id))
  return (
    <Panel title={title}>
      {then.length === 0 && <Empty>No rules {isNow ? 'apply' : 'applied then'}.</Empty>}
      <ol class="list">
        {then.map((rule) => (
          <RuleThen key={rule.id} rule={rule} now={current.get(rule.id)} />
        ))}
        {later.map((rule) => (
          <li key={rule.id} class="muted">
            <Badge tone="good">since</Badge> {rule.name}: {summarizeRule(rule)}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function RuleThen({ rule, now }: { readonly rule: Rule; readonly now: Rule | undefined }) {
  const isChanged = now !== undefined && diffFields(rule, now).length > 0
  return (
    <li>
      <RuleLine rule={rule} /> {now === undefined && <Badge tone="bad">no longer applies</Badge>}
      {isChanged && (
        <>
          <Badge tone="info">changed since</Badge>
          <Diff before={rule} after={now} />
        </>
      )}
    </li>
  )
}

/** A part of the changes of rules, oldest first. */
interface LoadedChanges {
  readonly entries: readonly AuditEntry[]
  /** Where the earlier ones begin; null if there are none. */
  readonly cursor: string | null
}

const CHANGING_KINDS = new Set<string>([...RULE_KINDS, 'policy', 'group', 'user'])

const PAGE_SIZE = 200

interface ChangeQuery {
  readonly cursor?: string | null
  /** A position or a time; the changes until then. */
  readonly until?: string | undefined
  /** Fewer than a page are enough. */
  readonly limit?: number
}

/** Reads changes until there are some of rules among them, or until there are no more. */
async function readChanges({ cursor = null, until, limit = PAGE_SIZE }: ChangeQuery): Promise<LoadedChanges> {
  let entries: readonly AuditEntry[] = []
  let next = cursor
  do {
    const objects = isOperator() || undefined
    const query = { until, limit: Math.max(limit, 50), cursor: next, objects }
    const page: Page<AuditEntry> = await read(`${root()}/audit`, query)
    entries = [...page.data.filter(({ kind }) => CHANGING_KINDS.has(kind)).toReversed(), ...entries]
    next = page.next_cursor
  } while (entries.length === 0 && next !== null)
  return { entries, cursor: next }
}

/** Reads the newest changes; those until a position, if it is further back. */
async function loadChanges(position: string | undefined): Promise<LoadedChanges> {
  const newest = await readChanges({})
  const oldest = newest.entries[0]?.position ?? 0
  if (position === undefined || newest.cursor === null || Number(position) >= oldest) return newest
  return readChanges({ until: position })
}
