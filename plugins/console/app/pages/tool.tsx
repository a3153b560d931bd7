import { post } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { humanize, showHidden } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { PinnedTool as Tool, ToolHistoryEntry, ToolServer } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { ChangeButton } from '../ui/dialogs.tsx'
import { JsonDiff, JsonText } from '../ui/json.tsx'
import { PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { ActorName, Badge, Stat, Time, type Tone } from '../ui/values.tsx'

export const serverHref = (id: number | string) => href(`/tool-servers/${encodeURIComponent(id)}`)

export const toolHref = (id: number | string, name: string) =>
  `${serverHref(id)}/tools/${encodeURIComponent(name)}`

interface ToolPageProps {
  /** Id of the server. */
  readonly server: string
  readonly name: string
}

/** A tool: its newest definition, how it differs from the approved one, and what was decided about it. */
export function ToolPage({ server: id, name }: ToolPageProps) {
  const serverPath = `/admin/tool-servers/${encodeURIComponent(id)}`
  const path = `${serverPath}/tools/${encodeURIComponent(name)}`
  const server = useData<ToolServer>(serverPath)
  const tool = useData<Tool>(path)
  const history = useData<readonly ToolHistoryEntry[]>(`${path}/history`)
  function reload() {
    tool.reload()
    history.reload()
  }
  return (
    <PageLayout title={name} actions={tool.data && <Decision tool={tool.data} path={path} onDone={reload} />}>
      <p>
        <a href={href('/tool-servers')}>Tool servers</a> ·{' '}
        <a href={serverHref(id)}>{server.data?.name ?? id}</a>
      </p>
      <ResourceView resource={tool}>{(loaded) => <ToolContent tool={loaded} />}</ResourceView>
      <Panel title="History">
        <ResourceView resource={history}>
          {(entries) => (
            <ol class="list">
              {entries.toReversed().map((entry) => (
                <HistoryEntry key={entry.position} entry={entry} />
              ))}
            </ol>
          )}
        </ResourceView>
      </Panel>
    </PageLayout>
  )
}

interface DecisionProps {
  readonly tool: Tool
  readonly path: string
  readonly onDone: () => void
}

/** Both name the revision that is shown: the gateway refuses to approve one that nobody has seen. */
function Decision({ tool, path, onDone }: DecisionProps) {
  const { name, status, revision, findings } = tool
  if (!hasRole('editor')) return null
  const decide = (verb: 'approve' | 'reject') => (_: object, reason: string) =>
    post(`${path}/${verb}`, { revision }, { reason }).then(onDone)
  const isApproved = status === 'approved'
  const reject = isApproved ? 'Revoke' : 'Reject'
  return (
    <>
      {status !== 'rejected' && (
        <ChangeButton
          label={reject}
          kind="danger"
          isDangerous
          title={`${reject} revision ${revision} of ${name}?`}
          onSave={decide('reject')}
        >
          <p>It is not served, also if the server lists it again.</p>
        </ChangeButton>
      )}
      {!isApproved && (
        <ChangeButton
          label={`Approve revision ${revision}`}
          kind="primary"
          title={`Approve revision ${revision} of ${name}?`}
          action="Approve"
          onSave={decide('approve')}
        >
          {findings.length > 0 && <Findings findings={findings} />}
          <p>Callers get this definition from then on.</p>
        </ChangeButton>
      )}
    </>
  )
}

export const TOOL_TONES: Readonly<Record<Tool['status'], Tone>> = {
  ...{ approved: 'good', pending: 'warn', changed: 'warn', rejected: 'bad' },
}

function ToolContent({ tool }: { readonly tool: Tool }) {
  const { status, revision, served_revision, approved_revision, digest, definition, findings, diff } = tool
  const { title, description } = definition
  return (
    <>
      {tool.removed_at && (
        <p class="notice warn">
          The server has not listed the tool since <Time value={tool.removed_at} />.
        </p>
      )}
      {findings.length > 0 && (
        <Panel title="Findings">
          <Findings findings={findings} />
        </Panel>
      )}
      <dl class="stats">
        <Stat
          label="Newest definition"
          value={<Badge tone={TOOL_TONES[status]}>{status}</Badge>}
          note={`revision ${revision}`}
        />
        <Stat
          label="Served"
          value={served_revision === null ? 'not served' : `revision ${served_revision}`}
        />
        <Stat label="Seen" value={<Time value={tool.seen_at} />} />
        {tool.decided_at && <Stat label="Decided" value={<Time value={tool.decided_at} />} />}
      </dl>
      {diff !== null && (
        <Panel title={`Changes from revision ${approved_revision} (approved) to ${revision}`}>
          <JsonDiff differences={diff} />
        </Panel>
      )}
      <Panel title={`Definition, revision ${revision}`}>
        {typeof title === 'string' && <h3>{showHidden(title)}</h3>}
        {typeof description === 'string' && <p class="text">{showHidden(description)}</p>}
        <JsonText label={`Definition of ${tool.name}`} value={definition} />
        <p class="muted">
          Digest <code class="secret">{digest}</code>
        </p>
      </Panel>
    </>
  )
}

const CHECKS: Readonly<Record<Tool['findings'][number]['check'], string>> = {
  hidden_text: 'characters that nobody sees',
  instruction_override: 'instructions to the model',
  exfiltration: 'a request to send secrets',
  other_server: 'the name of another server',
}

function Findings({ findings }: Pick<Tool, 'findings'>) {
  return (
    <ul class="list">
      {findings.map(({ check, path, excerpt }) => (
        <li key={`${check}${path}`}>
          <Badge tone="bad">{CHECKS[check] ?? humanize(check)}</Badge> at <code>{showHidden(path)}</code>
          <code class="block">{showHidden(excerpt)}</code>
        </li>
      ))}
    </ul>
  )
}

const EVENT_TONES: Readonly<Record<ToolHistoryEntry['event'], Tone>> = {
  ...{ seen: 'info', approved: 'good', rejected: 'bad', omitted: 'bad', removed: 'plain', returned: 'plain' },
}

function HistoryEntry({ entry }: { readonly entry: ToolHistoryEntry }) {
  const { position, event, revision, actor, time, reason, diff, definition } = entry
  return (
    <li>
      <p>
        <Badge tone={EVENT_TONES[event]}>{event}</Badge>
        {revision !== null && <b> revision {revision}</b>} by <ActorName actor={actor} /> ·{' '}
        <Time value={time} /> · <a href={href('/audit', { position })}>Position {position}</a>
      </p>
      {reason && <p class="reason">{reason}</p>}
      {diff && <JsonDiff differences={diff} />}
      {definition && (
        <details>
          <summary>Definition</summary>
          <JsonText label={`Definition, revision ${revision}`} value={definition} />
        </details>
      )}
    </li>
  )
}
