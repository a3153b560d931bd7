import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import type { EventLog } from '../../core/contract/index.ts'
import { firewallRuleBody } from './bodies.ts'
import { startEventStore } from './eventstore/server.ts'
import { makeFolder } from './folders.ts'
import type { RunningGateway } from './gateway.ts'
import { startGatewayProcess } from './gateway-process.ts'

/** Two gateway processes that share an event log. */
export interface TwoNodes {
  readonly nodes: readonly [RunningGateway, RunningGateway]
  /** Opens the event log that the nodes share. */
  openLog(): Promise<EventLog>
  stop(): Promise<void>
}

/** On the embedded log, in one data folder. */
export async function startOnFolder(): Promise<TwoNodes> {
  const first = await startGatewayProcess()
  const { dataDir, demoKey } = first
  const second = await startGatewayProcess({}, { dataDir, demoKey })
  return {
    nodes: [first, second],
    openLog: () => openLog({ data_dir: dataDir, eventstore_url: null }),
    stop: async () => void (await Promise.all([first.stop(), second.stop()])),
  }
}

/** On one EventStoreDB, with a data folder each. */
export async function startOnServer(): Promise<TwoNodes> {
  const server = await startEventStore()
  const { connectionString } = server
  const settings = { EVENTSTORE_URL: connectionString }
  const first = await startGatewayProcess(settings)
  const second = await startGatewayProcess(settings, { dataDir: await makeFolder(), demoKey: first.demoKey })
  return {
    nodes: [first, second],
    openLog: () => openLog({ data_dir: first.dataDir, eventstore_url: connectionString }),
    async stop() {
      await Promise.all([first.stop(), second.stop()])
      await server.stop()
    },
  }
}

/** Creates a firewall rule and returns it. */
export function createRule(node: RunningGateway, pattern: string, action: string): Promise<{ id: number }> {
  return succeed(
    node.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: pattern, pattern, action })),
  )
}

/** The data of a successful response; fails on any other. */
export async function succeed(answer: ReturnType<RunningGateway['call']>) {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).to.be.within(200, 201)
  return body.data
}
