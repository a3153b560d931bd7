import { useState } from 'preact/hooks'
import { endpointUrl, get, read, toError } from '../lib/api.ts'
import { useResource } from '../lib/data.ts'
import { formatCount, humanize } from '../lib/format.ts'
import { useOptionalRange } from '../lib/range.ts'
import { href, route } from '../lib/router.ts'
import { saveFile } from '../lib/save-file.ts'
import type { AuditEntry, EventProof, Operator } from '../lib/schemas.ts'
import { canReadPastRules, isOperator, root, seesEverything } from '../lib/session.ts'
import { canVerify, findProofIssue, parseCheckpoint } from '../lib/verify-proof.ts'
import { Dialog } from '../ui/dialogs.tsx'
import { Diff } from '../ui/diff.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { PagedList, VirtualList } from '../ui/list.tsx'
import { PageLayout } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import { isToldBySentence, Sentence } from '../ui/sentence.tsx'
import { Badge, Time, type Tone } from '../ui/values.tsx'

const OWN_KINDS = ['routing', 'firewall', 'tool', 'user', 'key']
const KINDS = [
  ...OWN_KINDS,
  ...['policy', 'group', 'budget', 'operator', 'access', 'tool_server', 'approval', 'log'],
]

const kindFilter = (kinds: readonly string[]): Filter => ({
  name: 'kind',
  label: 'Kind',
  options: [['', 'all'], ...kinds],
})

const OWN_FILTERS: readonly Filter[] = [kindFilter(OWN_KINDS), { name: 'actor' }]

/** Links lead to the changes of actors who are no operators any more. */
function operatorFilters(operators: readonly Operator[]): readonly Filter[] {
  const actor = route.value.query.get('actor') ?? ''
  const known: readonly (readonly [string, string])[] = [
    ['', 'all'],
    ['root', 'ADMIN_KEY'],
    ['cli', 'command line'],
    ['system', 'gateway'],
    ...operators.map(({ id, name }) => [id, name] as const),
  ]
  const others = known.some(([id]) => id === actor) ? [] : [[actor, actor] as const]
  return [
    kindFilter(KINDS),
    { name: 'actor', label: 'Actor', options: [...known, ...others] },
    { name: 'user', type: 'user' },
    { name: 'group', type: 'group' },
    { name: 'q', label: 'Text', type: 'text' },
    { name: 'policy' },
    { name: 'rule' },
  ]
}

/** All changes, newest first: who, what, when and why. */
export function AuditPage() {
  const operators = useResource('operators', async () =>
    seesEverything() ? get<readonly Operator[]>('/admin/operators') : [],
  )
  const path = `${root()}/audit`
  const filters = isOperator() ? operatorFilters(operators.data ?? []) : OWN_FILTERS
  const chosen = { ...chosenFilters(filters), ...useOptionalRange() }
  const { position } = chosenFilters([{ name: 'position' }])
  const range = position ? { since: position, until: position } : {}
  return (
    <PageLayout
      title="Audit"
      actions={
        <>
          {isOperator() && <VerificationBadge />}
          <RangePicker hasAll />
        </>
      }
    >
      <Filters filters={[...filters, { name: 'position' }]}>
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
      </Filters>
      <PagedList<AuditEntry>
        path={path}
        query={{ ...chosen, ...range, limit: 50, ...(isOperator() && { objects: true }) }}
        empty="No changes match."
      >
        {(entries) => (
          <VirtualList class="timeline" items={entries}>
            {(entry) => <Entry key={entry.position} entry={entry} />}
          </VirtualList>
        )}
      </PagedList>
    </PageLayout>
  )
}

function Entry({ entry }: { readonly entry: AuditEntry }) {
  const { position, time, kind, reason, no_effect, user_id } = entry
  return (
    <li>
      <p>
        <Badge>{humanize(kind)}</Badge> <Sentence entry={entry} /> · <Time value={time} />
      </p>
      {reason && <p class="reason">{reason}</p>}
      {no_effect && <p class="reason">Without effect: {no_effect}</p>}
      <Content entry={entry} />
      <p class="muted">
        <a href={href('/audit', { position })}>Position {position}</a>
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
    </li>
  )
}

/** What the sentence does not say: long values, and the fields of what was added or deleted. */
function Content({ entry }: { readonly entry: AuditEntry }) {
  const { kind, before, after, data } = entry
  if (isToldBySentence(entry) || kind === 'access') return null
  if (before && after) return <Diff before={before} after={after} />
  const fields = before ?? after ?? flatten(data)
  if (Object.keys(fields).length === 0) return null
  return (
    <details>
      <summary>Details</summary>
      <Diff before={before ?? null} after={before ? null : fields} />
    </details>
  )
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

/** What the newest checkpoint covers. It can be saved, to compare later logs with it. */
function VerificationBadge() {
  const checkpoint = useResource('checkpoint', () => read<string>('/admin/audit/checkpoint'))
  const { data, error } = checkpoint
  if (error) return <Badge tone="warn">{error.status === 404 ? 'No checkpoint yet' : error.message}</Badge>
  if (data === undefined) return null
  const { size, root } = parseCheckpoint(data)
  return (
    <>
      <span title={`Root ${root}`}>
        <Badge tone="good">Signed up to event {formatCount(size)}</Badge>
      </span>
      <button type="button" onClick={() => saveFile('checkpoint.txt', data)}>
        Save the checkpoint
      </button>
    </>
  )
}

type Outcome = { readonly tone: Tone; readonly text: string; readonly proof?: EventProof }

async function verify(position: number): Promise<Outcome> {
  try {
    const proof = await get<EventProof>(`/admin/audit/${position}/proof`)
    if (!canVerify()) {
      const text =
        'Browsers verify over HTTPS only. Save the proof, and check it with "signalbox proof check".'
      return { tone: 'warn', text, proof }
    }
    const issue = await findProofIssue(proof)
    const { size } = parseCheckpoint(proof.checkpoint)
    const valid = `This event is in the signed log of ${formatCount(size)} events. Your browser computed it.`
    return { tone: issue ? 'bad' : 'good', text: issue ?? valid, proof }
  } catch (thrown) {
    return { tone: 'warn', text: toError(thrown).message }
  }
}

interface ProofButtonProps {
  readonly position: number
  readonly type?: 'button' | 'submit'
}

/** Verifies an event in the browser, and offers its proof to be saved. */
export function ProofButton({ position, type = 'button' }: ProofButtonProps) {
  const [outcome, setOutcome] = useState<Outcome>()
  const { proof, tone = 'plain', text } = outcome ?? {}
  return (
    <>
      <button type={type} class="link" onClick={() => verify(position).then(setOutcome)}>
        Verify
      </button>
      {outcome && (
        <Dialog title={`Event at position ${position}`} onClose={() => setOutcome(undefined)}>
          <p>
            <Badge tone={tone}>{tone === 'good' ? 'verified' : 'not verified'}</Badge> {text}
          </p>
          {proof && (
            <p class="muted">
              Compare the key with the one that you saved: <code class="secret">{proof.key}</code>
            </p>
          )}
          <div class="actions end">
            {proof && (
              <button
                type="button"
                onClick={() => saveFile(`proof-${position}.json`, JSON.stringify({ data: proof }, null, 2))}
              >
                Save the proof
              </button>
            )}
            <button type="button" class="primary" onClick={() => setOutcome(undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
