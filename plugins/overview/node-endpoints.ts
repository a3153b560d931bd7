import { availableParallelism, hostname, totalmem } from 'node:os'
import { data, type Endpoint, endpoint, operator, service } from '../../core/contract/index.ts'
import { NodeSchema, type ProcessFigures, type ShownProcess } from './node-schemas.ts'

export type { ProcessFigures } from './node-schemas.ts'

/** A process, as far as it is known to the one that watches it. */
export interface KnownProcess extends Pick<ShownProcess, 'role' | 'number' | 'state' | 'is_leader'> {
  /** Undefined if it did not answer. */
  readonly figures: ProcessFigures | undefined
}

/** The processes of this node. The gateway provides it. */
export interface NodeProcesses {
  read(): Promise<readonly KnownProcess[]>
  readonly eventLog: 'embedded' | 'server'
  readonly ledger: 'embedded' | 'server'
  readonly sharesCounts: boolean
}

export const NodeProcesses = service<NodeProcesses>('nodes.processes')

/** Creates the endpoint that shows the processes behind the ports of this node. */
export function createNodeEndpoint(processes: NodeProcesses, version: string): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/admin/node',
    access: operator('auditor'),
    operationId: 'readNode',
    summary: 'Returns the node that answers, with its processes, their memory and how far they are.',
    tags: ['admin'],
    responses: { 200: { description: 'The node.', body: data(NodeSchema) } },
    async handle() {
      const known = await processes.read()
      const furthest = Math.max(...known.map(({ figures }) => figures?.position ?? 0))
      const limit = process.constrainedMemory()
      return {
        status: 200,
        body: {
          data: {
            host: hostname(),
            version,
            node_version: process.version,
            cpus: availableParallelism(),
            memory_bytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
            event_log: processes.eventLog,
            ledger: processes.ledger,
            shares_counts: processes.sharesCounts,
            processes: known.map(({ figures, ...rest }) => ({
              ...rest,
              lag: figures?.position == null ? null : furthest - figures.position,
              figures: figures ?? null,
            })),
          },
        },
      }
    },
  })
}
