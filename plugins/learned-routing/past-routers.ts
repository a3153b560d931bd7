import type { EventLog } from '../../core/contract/index.ts'
import { ROUTERS_STREAM } from '../../core/events/router-events.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import { decodeEvent, isWellFormed } from '../../projections/events/registry.ts'
import { checkNotInFuture, eventsUpTo } from '../../projections/history.ts'
import type { PastEvent } from '../../projections/past-events.ts'
import { createRouters, type Routers } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'

/** Returns the routers as of a point in time. Throws 400 if it is in the future. */
export async function readRoutersAt(
  log: Pick<EventLog, 'read'>,
  subscription: Pick<Subscription, 'position'>,
  asOf: AsOf,
): Promise<Routers> {
  const events: PastEvent[] = []
  for await (const record of log.read(ROUTERS_STREAM)) {
    const event = decodeEvent(record)
    if (event === undefined || !isWellFormed(event, record)) continue
    events.push({ record, event })
  }
  const now = Date.now()
  checkNotInFuture(asOf, subscription.position(), now, events)
  const routers = createRouters()
  for (const { event, record } of eventsUpTo(events, asOf, now)) if (event) routers.apply(event, record)
  return routers
}
