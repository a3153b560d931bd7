import { randomUUID } from 'node:crypto'
import { openEventStoreLog } from '../../../../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS, UNFOLLOWED_STREAMS } from '../../../../../projections/events/streams.ts'
import { eventLogContract, type OpenedLog } from '../../../../support/event-log-suite.ts'
import { startEventStore } from '../../../../support/eventstore/server.ts'

// Ten pages of the test server.
const size = { manyEvents: 1000 }
eventLogContract('the EventStoreDB log', openAtTestServer, size)

const url = process.env.EVENTSTORE_URL
if (url) eventLogContract('the EventStoreDB log on EVENTSTORE_URL', () => openAtRealServer(url))

async function openAtTestServer(): Promise<OpenedLog> {
  const server = await startEventStore()
  return opened(server.connectionString, '', () => server.stop())
}

/** Each test uses its own stream prefix. The streams are not deleted. */
function openAtRealServer(connectionString: string): Promise<OpenedLog> {
  return opened(connectionString, `signalbox-test-${randomUUID()}-`, async () => undefined)
}

async function opened(
  connectionString: string,
  streamPrefix: string,
  stop: () => Promise<void>,
): Promise<OpenedLog> {
  const open = () =>
    openEventStoreLog({
      connectionString,
      streamPrefix,
      followedStreams: FOLLOWED_STREAMS,
      unfollowedStreams: UNFOLLOWED_STREAMS,
    })
  let log = await open()
  return {
    log,
    async reopen() {
      await log.close()
      log = await open()
      return log
    },
    async dispose() {
      await log.close()
      await stop()
    },
  }
}
