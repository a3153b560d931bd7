import { copyFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../folders.ts'
import { startEventStoreCluster } from './cluster.ts'
import { type OperatedStore, operateStore } from './operated-store.ts'
import { startEventStore } from './server.ts'

/** An event store whose nodes a test can kill, freeze and exchange. Nodes count from 0. */
export interface StoreUnderTest {
  readonly connectionString: string
  /** Resolves with the leader, after the election if there is one. */
  leader(): Promise<number>
  kill(node: number): Promise<void>
  start(node: number): Promise<void>
  freeze(node: number): Promise<void>
  thaw(node: number): Promise<void>
  /** Keeps a copy of the data under a name. All nodes are stopped, as in the next two. */
  save(name: string): Promise<void>
  /** Replaces the data by the copy of that name. */
  load(name: string): Promise<void>
  wipe(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the store that the environment names, or else a test server: `TEST_EVENTSTORE_URL` for one node,
 * `TEST_EVENTSTORE_CLUSTER_URL` for a cluster; see docs/lab/kill-rounds.md.
 */
export async function openStoreUnderTest(kind: 'node' | 'cluster'): Promise<StoreUnderTest> {
  const prefix = kind === 'node' ? 'TEST_EVENTSTORE' : 'TEST_EVENTSTORE_CLUSTER'
  const operated = readOperatedStore(prefix)
  if (operated !== undefined) return operateStore(operated)
  return kind === 'node' ? startNode() : startCluster()
}

function readOperatedStore(prefix: string): OperatedStore | undefined {
  const connectionString = process.env[`${prefix}_URL`]
  if (!connectionString) return undefined
  const command = process.env[`${prefix}_COMMAND`]
  if (!command) throw new Error(`${prefix}_URL needs ${prefix}_COMMAND, which kills and starts its nodes`)
  return { connectionString, command }
}

/** Starts a test server of one node. */
export async function startNode(): Promise<StoreUnderTest> {
  const folder = await makeFolder()
  const fileOf = (name: string) => path.join(folder, `${name}.db`)
  const file = fileOf('events')
  let server = await startEventStore({ file })
  const { port, connectionString } = server
  const wipe = async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
  }
  return {
    connectionString,
    leader: async () => 0,
    kill: () => server.stop(),
    async start() {
      server = await startEventStore({ port, file })
    },
    freeze: async () => server.freeze(),
    thaw: async () => server.thaw(),
    save: (name) => copyFile(file, fileOf(name)),
    async load(name) {
      await wipe()
      await copyFile(fileOf(name), file)
    },
    wipe,
    close: () => server.stop(),
  }
}

/** Starts a cluster of three test servers. Its data cannot be saved, loaded or wiped. */
export async function startCluster(): Promise<StoreUnderTest> {
  const cluster = await startEventStoreCluster({ heartbeatMs: 100, electionMs: 100 })
  const node = (index: number) => {
    const found = cluster.nodes[index]
    if (found === undefined) throw new Error(`the cluster has no node ${index}`)
    return found
  }
  const keepsData = () => Promise.reject(new Error('the data of a test cluster is in memory'))
  return {
    connectionString: cluster.connectionString,
    leader: async () => cluster.nodes.indexOf(await cluster.leader()),
    kill: (index) => node(index).kill(),
    start: (index) => node(index).start(),
    freeze: async (index) => node(index).freeze(),
    thaw: async (index) => node(index).thaw(),
    save: keepsData,
    load: keepsData,
    wipe: keepsData,
    close: () => cluster.stop(),
  }
}
