import { useData } from '../lib/data.ts'
import { formatBytes, formatCount } from '../lib/format.ts'
import type { Node, NodeProcess } from '../lib/schemas.ts'
import { type Column, Table } from '../ui/list.tsx'
import { PageLayout, ResourceView } from '../ui/page.tsx'
import { Badge, Stat, Time, type Tone } from '../ui/values.tsx'

const REFRESH_MS = 5000

/** The node that answers, and its processes. */
export function NodesPage() {
  const node = useData<Node>('/admin/node', {}, REFRESH_MS)
  return (
    <PageLayout title="Nodes">
      <ResourceView resource={node}>{(data) => <NodeView {...data} />}</ResourceView>
    </PageLayout>
  )
}

function NodeView(node: Node) {
  const { host, version, node_version, cpus, memory_bytes, event_log, ledger, processes } = node
  const serving = processes.filter(({ role, state }) => role !== 'primary' && state === 'serving')
  const used = processes.reduce((sum, { figures }) => sum + (figures?.memory_bytes ?? 0), 0)
  const position = Math.max(...processes.map(({ figures }) => figures?.position ?? 0))
  return (
    <>
      <dl class="stats">
        <Stat label="Node" value={host} />
        <Stat label="Version" value={version} note={`Node.js ${node_version}`} />
        <Stat label="Serving" value={serving.length} note={`on ${formatCount(cpus)} processors`} />
        <Stat label="Memory" value={formatBytes(used)} note={`of ${formatBytes(memory_bytes)}`} />
        <Stat label="Event log" value={formatCount(position)} note={PLACES[event_log]} />
        <Stat label="Request ledger" value={PLACES[ledger]} />
      </dl>
      <Table columns={COLUMNS} items={processes} keyOf={keyOf} />
      <p class="muted">
        {event_log === 'server'
          ? 'These are the processes of the node that answered. Nodes do not know each other: other nodes ' +
            'on the same event log have a page of their own, at their own address. '
          : 'The event log is a file of this node, so there are no other nodes. '}
        {event_log === 'server' &&
          !node.shares_counts &&
          'Limits are counted by each node for itself, because there is no Redis (redis_url).'}
      </p>
    </>
  )
}

const PLACES: Readonly<Record<Node['ledger'], string>> = { embedded: 'in a file', server: 'on a server' }

const keyOf = ({ role, number, figures }: NodeProcess) => `${role} ${number} ${figures?.pid}`

const TONES: Readonly<Record<NodeProcess['state'], Tone>> = {
  serving: 'good',
  starting: 'info',
  draining: 'warn',
}

/** What a process that did not answer has not said. */
const UNKNOWN = <span class="muted">–</span>

const COLUMNS: readonly Column<NodeProcess>[] = [
  {
    title: 'Process',
    value: ({ role, number }) => (number === null ? role : `${role} ${number}`),
  },
  {
    title: 'State',
    cell: ({ role, state, figures, is_leader }) => (
      <>
        <Badge tone={figures ? TONES[state] : 'warn'}>
          {figures || state === 'starting' ? (role === 'primary' ? 'watching' : state) : 'does not answer'}
        </Badge>{' '}
        {is_leader && role === 'worker' && (
          <span title="Does what one process of a node does: snapshots, checkpoints, alerts, training.">
            <Badge>leader</Badge>
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Position',
    kind: 'number',
    cell: ({ figures }) => (figures?.position == null ? UNKNOWN : formatCount(figures.position)),
  },
  {
    title: 'Lag',
    kind: 'number',
    cell: ({ lag, figures }) => (
      <>
        {lag === null ? UNKNOWN : formatCount(lag)}
        {figures?.log_state && figures.log_state !== 'following' && (
          <small class="issue block">log {figures.log_state}</small>
        )}
      </>
    ),
  },
  {
    title: 'In flight',
    kind: 'number',
    cell: ({ figures }) =>
      figures?.requests_in_flight == null ? UNKNOWN : formatCount(figures.requests_in_flight),
  },
  {
    title: 'Memory',
    kind: 'number',
    value: ({ figures }) => figures?.memory_bytes ?? null,
    format: formatBytes,
  },
  {
    title: 'Heap',
    kind: 'number',
    cell: ({ figures }) =>
      figures ? (
        <>
          {formatBytes(figures.heap_used_bytes)}
          <small class="muted block">of {formatBytes(figures.heap_limit_bytes)}</small>
        </>
      ) : (
        UNKNOWN
      ),
  },
  {
    title: 'Started',
    cell: ({ figures }) => (figures ? <Time value={figures.started_at} relative /> : UNKNOWN),
  },
  { title: 'Process id', kind: 'number', cell: ({ figures }) => figures?.pid ?? UNKNOWN },
]
