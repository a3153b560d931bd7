import { expect } from 'chai'
import { EventLogUnavailableError } from '../../core/contract/event-log.ts'
import { openEventStoreLog } from '../../core/event-log/eventstore/eventstore-log.ts'
import { FOLLOWED_STREAMS } from '../../projections/events/streams.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { rejection } from '../support/event-log-suite.ts'
import { startEventStoreCluster } from '../support/eventstore/cluster.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { createResponse } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

const addRule = (gateway: RunningGateway, pattern: string) =>
  gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: pattern, pattern, action: 'warn' }))

const stateOf = async (gateway: RunningGateway) => (await gateway.call('GET', '/readyz')).body.event_log

async function measure<Result>(run: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now()
  const result = await run()
  return { result, ms: performance.now() - startedAt }
}

describe('a log on EventStoreDB that cannot be opened', () => {
  const failToOpen = (connectionString: string) =>
    measure(() =>
      rejection(openEventStoreLog({ connectionString, timeoutMs: 100, followedStreams: FOLLOWED_STREAMS })),
    )

  it('is reported within a second if nothing listens, and after the timeout if nothing responds', async () => {
    const server = await startEventStore()
    server.delay(60_000)
    const silent = await failToOpen(server.connectionString)
    await server.stop()
    const absent = await failToOpen(server.connectionString)

    for (const { result, ms } of [silent, absent]) {
      expect(result).to.be.instanceOf(EventLogUnavailableError)
      expect(ms).to.be.below(1000)
    }
  })
})

describe('an EventStoreDB that stops responding', () => {
  it('is away within 3 s; changes are answered within 10 s, and responses are not delayed', async function () {
    this.timeout(60_000)
    const server = await startEventStore()
    const gateway = await startGateway({ EVENTSTORE_URL: server.connectionString })
    await createResponse(gateway, { input: 'warm' })
    const before = await measure(() => createResponse(gateway, { input: 'before' }))
    server.freeze()
    const frozenAt = performance.now()
    const changing = measure(() => addRule(gateway, 'while frozen'))
    await waitUntil(async () => (await stateOf(gateway)) === 'away')

    expect(performance.now() - frozenAt).to.be.below(3100)
    const during = await measure(() => createResponse(gateway, { input: 'during' }))
    expect(JSON.parse(during.result.text).store).to.equal(true)
    expect(during.ms - before.ms).to.be.below(100)
    const change = await changing
    expect(change.result.status).to.equal(503)
    expect(change.ms).to.be.below(10_000)
    server.thaw()
    await waitUntil(async () => (await addRule(gateway, 'after')).status === 201)
    await gateway.stop()
    await server.stop()
  })

  it('as the leader of a cluster, is left within 3 s of the next election', async function () {
    this.timeout(60_000)
    const cluster = await startEventStoreCluster({ heartbeatMs: 500, electionMs: 500 })
    const gateway = await startGateway({ EVENTSTORE_URL: cluster.connectionString })
    expect((await addRule(gateway, 'before')).status).to.equal(201)
    const frozen = await cluster.leader()
    frozen.freeze()
    await waitUntil(async () => (await cluster.leader().catch(() => frozen)) !== frozen)
    const { ms } = await measure(() =>
      waitUntil(async () => (await addRule(gateway, 'after')).status === 201),
    )

    expect(ms).to.be.below(3100)
    await gateway.stop()
    frozen.thaw()
    await cluster.stop()
  })
})
