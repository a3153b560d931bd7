import { getHeapStatistics } from 'node:v8'
import type { RequestsInFlight } from '../../core/http/client-connection.ts'
import type { ProcessFigures } from '../../plugins/overview/node-endpoints.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'

/** Describes this process, which follows the event log unless it is a primary. */
export function describeProcess(
  followed?: Pick<Subscription, 'position' | 'state'>,
  requests?: Pick<RequestsInFlight, 'size'>,
): ProcessFigures {
  const { rss, heapUsed } = process.memoryUsage()
  return {
    pid: process.pid,
    started_at: new Date(Date.now() - process.uptime() * 1000).toISOString(),
    position: followed?.position() ?? null,
    log_state: followed?.state() ?? null,
    memory_bytes: rss,
    heap_used_bytes: heapUsed,
    heap_limit_bytes: getHeapStatistics().heap_size_limit,
    requests_in_flight: requests?.size ?? null,
  }
}
