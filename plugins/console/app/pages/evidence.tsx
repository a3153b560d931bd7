import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useAction, useResource } from '../lib/data.ts'
import { formatCount } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import { saveFile } from '../lib/save-file.ts'
import type { GatewayStatus, LoggedCheckpoint } from '../lib/schemas.ts'
import { canVerify, findCheckpointIssue, parseCheckpoint } from '../lib/verify-proof.ts'
import { CopyButton } from '../ui/dialogs.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { type Column, PagedList, VirtualTable } from '../ui/list.tsx'
import { ErrorMessage, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { Badge, Stat, Time } from '../ui/values.tsx'
import { ProofButton } from './audit.tsx'

/** What proves that nobody has changed the log: checkpoints, proofs, and how to verify them. */
export function EvidencePage() {
  const [version, setVersion] = useState(0)
  const evidence = useResource(`evidence ${version}`, readEvidence)
  const sign = useAction(async () => {
    await send('POST', '/admin/audit/checkpoint', {})
    setVersion((old) => old + 1)
  })
  return (
    <PageLayout
      title="Evidence"
      actions={
        <button type="button" class="primary" disabled={sign.isBusy} onClick={() => sign.start()}>
          {sign.isBusy ? 'Signing…' : 'Sign a checkpoint'}
        </button>
      }
    >
      <p class="muted">
        All changes are hashed into a tree, whose root is signed. Whoever has saved a checkpoint can tell that
        nothing before it was changed, removed or inserted since.
      </p>
      {sign.error && <ErrorMessage error={sign.error} />}
      <ResourceView resource={evidence}>{(state) => <Summary {...state} />}</ResourceView>
      <ProveEvent />
      <CheckSaved />
      <VerifyAll />
      <Panel title="Checkpoints">
        <PagedList<LoggedCheckpoint>
          path="/admin/audit/checkpoints"
          query={{ limit: 100 }}
          version={version}
          empty={NO_CHECKPOINT}
        >
          {(checkpoints) => (
            <VirtualTable columns={COLUMNS} items={checkpoints} keyOf={({ position }) => position} />
          )}
        </PagedList>
      </Panel>
    </PageLayout>
  )
}

const NO_CHECKPOINT =
  'No checkpoint was signed yet. One is signed after 1,000 changes, after an hour with changes, and ' +
  'when you press “Sign a checkpoint”.'

interface EvidenceState {
  readonly newest: LoggedCheckpoint | undefined
  /** Why nothing is signed; undefined while it is. */
  readonly contradiction: string | undefined
}

async function readEvidence(): Promise<EvidenceState> {
  const [[newest], { attention }] = await Promise.all([
    get<readonly LoggedCheckpoint[]>('/admin/audit/checkpoints', { limit: 1 }),
    get<GatewayStatus>('/admin/status'),
  ])
  return { newest, contradiction: attention.find(({ code }) => code === 'event_log_contradicted')?.message }
}

function Summary({ newest, contradiction }: EvidenceState) {
  return (
    <>
      {contradiction && (
        <div class="notice error" role="alert">
          <p>{contradiction}</p>
        </div>
      )}
      <dl class="stats">
        <Stat
          label="The log"
          value={
            contradiction ? (
              <Badge tone="bad">contradicts its evidence</Badge>
            ) : (
              <Badge tone="good">no contradiction known</Badge>
            )
          }
        />
        <Stat label="Signed events" value={newest ? formatCount(newest.size) : 'none'} />
        <Stat label="Last signed" value={newest ? <Time value={newest.time} relative /> : 'never'} />
      </dl>
      {newest && (
        <Panel
          title="What to save elsewhere"
          actions={
            <>
              <button type="button" onClick={() => saveFile('checkpoint.txt', newest.note)}>
                Save the checkpoint
              </button>
              <CopyButton text={newest.key} label="Copy the key" />
            </>
          }
        >
          <p>
            Keep the newest checkpoint and the public key where operators of the gateway cannot change them,
            such as with your auditor.
          </p>
          <pre>{newest.note}</pre>
          <p>
            Public key: <code class="secret">{newest.key}</code>
          </p>
        </Panel>
      )}
    </>
  )
}

function ProveEvent() {
  const [text, setText] = useState('')
  const position = Number(text)
  return (
    <Panel title="Prove a change">
      <p>
        The position of a change is in the <a href={href('/audit')}>audit trail</a>. Your browser computes the
        root from the event, and compares it with the newest checkpoint.
      </p>
      {/* Enter in the field presses the button of the form. */}
      <Form onSubmit={() => undefined}>
        <div class="row">
          <TextField label="Position" type="number" min={1} value={text} onInput={setText} />
        </div>
        {Number.isInteger(position) && position > 0 && (
          <p>
            <ProofButton key={position} position={position} type="submit" />
          </p>
        )}
      </Form>
    </Panel>
  )
}

const OUTCOMES = { good: 'the same', bad: 'not the same', warn: 'not compared' }

interface Finding {
  readonly tone: keyof typeof OUTCOMES
  readonly text: string
}

/** Whether a checkpoint that was saved is one of this log. */
function CheckSaved() {
  const [note, setNote] = useState('')
  const [finding, setFinding] = useState<Finding>()
  const check = useAction(async () => {
    setFinding(undefined)
    setFinding(await checkSaved(note))
  })
  return (
    <Panel title="Check a saved checkpoint">
      <TextField
        label="Checkpoint"
        rows={5}
        mono
        value={note}
        onInput={setNote}
        hint="The text of checkpoint.txt. It is compared with what the log holds over the same events."
      />
      <button type="button" disabled={note.trim() === '' || check.isBusy} onClick={() => check.start()}>
        Check
      </button>
      <div role="status">
        {finding && (
          <p>
            <Badge tone={finding.tone}>{OUTCOMES[finding.tone]}</Badge> {finding.text}
          </p>
        )}
      </div>
      {check.error && <ErrorMessage error={check.error} />}
    </Panel>
  )
}

async function checkSaved(note: string): Promise<Finding> {
  const saved = parseCheckpoint(note.replaceAll('\r\n', '\n'))
  if (saved.root === '' || !Number.isInteger(saved.size))
    return {
      tone: 'warn',
      text: 'This is no checkpoint: it has the name of the log, a number and a hash in lines.',
    }
  const size = formatCount(saved.size)
  const [found] = await get<readonly LoggedCheckpoint[]>('/admin/audit/checkpoints', {
    size: saved.size,
    limit: 1,
  })
  if (!found) return { tone: 'bad', text: `The log has no checkpoint over its first ${size} events.` }
  if (found.root !== saved.root || parseCheckpoint(found.note).origin !== saved.origin)
    return { tone: 'bad', text: `The log has another checkpoint over its first ${size} events.` }
  const issue = canVerify() ? await findCheckpointIssue(found.note, found.key) : undefined
  if (issue) return { tone: 'bad', text: issue }
  const held = `The log holds this checkpoint over its first ${size} events.`
  return { tone: 'good', text: `${held} “signalbox log verify” proves the events.` }
}

const COLUMNS: readonly Column<LoggedCheckpoint>[] = [
  { title: 'Events', kind: 'number', value: ({ size }) => size, format: formatCount },
  { title: 'Signed', value: ({ time }) => time, cell: ({ time }) => <Time value={time} /> },
  { title: 'Root', class: 'clip', cell: ({ root }) => <code>{root}</code> },
  { title: 'Position', kind: 'number', value: ({ position }) => position },
  {
    title: 'Actions',
    kind: 'hidden',
    // None is after the newest one, to prove that.
    cell: ({ position, size, note }, index) => (
      <>
        {index > 0 && <ProofButton position={position} />}{' '}
        <button type="button" class="link" onClick={() => saveFile(`checkpoint-${size}.txt`, note)}>
          Save
        </button>
      </>
    ),
  },
]

const COMMANDS = `npx signalbox log verify --checkpoint checkpoint.txt
npx signalbox proof check proof.json --key "$KEY"`

/** What the browser cannot do: to read every event. */
function VerifyAll() {
  return (
    <Panel title="Verify the whole log" actions={<CopyButton text={COMMANDS} />}>
      <p>
        Where the log is, this reads every event, compares it with the tree at each checkpoint, and names the
        first one that was changed, removed or inserted. The second command checks a proof anywhere, without
        the gateway.
      </p>
      <pre>{COMMANDS}</pre>
    </Panel>
  )
}
