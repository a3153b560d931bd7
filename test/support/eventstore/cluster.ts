import { setTimeout as sleep } from 'node:timers/promises'
import type { Member } from './gossip.ts'
import { type Node, startNode } from './node.ts'
import { EVENTSTORE_VERSION } from './server.ts'
import { Store } from './store.ts'

interface ClusterOptions {
  /** The database file; in memory by default. */
  readonly file?: string
  readonly nodes?: number
  /** Time until the others notice that a node is frozen, in milliseconds. */
  readonly heartbeatMs?: number
  /** Time without a leader during an election, in milliseconds. */
  readonly electionMs?: number
}

/** A cluster of test servers with one store, which stands for their replicated log. */
export interface EventStoreCluster {
  readonly store: Store
  /** Its nodes, in a connection string that lists all of them. */
  readonly connectionString: string
  /** The same with `+discover`. */
  readonly discoverString: string
  readonly nodes: readonly ClusterNode[]
  /** Resolves with the leader, after the election if there is one. */
  leader(): Promise<ClusterNode>
  /** Elections that begin from now on last until the returned function is called. */
  holdElections(): () => void
  stop(): Promise<void>
}

export interface ClusterNode {
  readonly port: number
  /** Stops the node without warning. An acknowledged write is never lost. */
  kill(): Promise<void>
  /** Starts it again after a kill. */
  start(): Promise<void>
  /** Stops the node like SIGSTOP. */
  freeze(): void
  thaw(): void
  /** Gives up the leadership, but goes on as a follower. */
  resign(): void
  node(): Node
}

export async function startEventStoreCluster(options: ClusterOptions = {}): Promise<EventStoreCluster> {
  const { file = ':memory:', nodes: size = 3, heartbeatMs = 1000, electionMs = 500 } = options
  const store = new Store(file)
  const states = Array.from({ length: size }, () => ({
    port: 0,
    running: undefined as Node | undefined,
    isFrozen: false,
    isAlive: false,
  }))
  type State = (typeof states)[number]
  let leader: State | undefined
  let election: Promise<void> = Promise.resolve()
  let held: Promise<void> | undefined

  const stateOf = (state: State): Member['state'] => {
    if (leader === undefined) return 'unknown'
    return state === leader ? 'leader' : 'follower'
  }
  const members = (): readonly Member[] =>
    states.map((state) => ({ port: state.port, state: stateOf(state), isAlive: state.isAlive }))

  async function start(state: State): Promise<void> {
    const { port } = state
    state.running = await startNode({ store, port, version: EVENTSTORE_VERSION, members })
    state.port = state.running.port
    state.isAlive = true
    if (leader === undefined) elect()
  }

  /** Elects a leader if a majority of the nodes is alive. */
  function elect(candidate?: State): void {
    leader = undefined
    election = (held ?? sleep(electionMs, undefined, { ref: false })).then(() => {
      const alive = states.filter((state) => state.isAlive && !state.isFrozen)
      if (leader !== undefined || alive.length * 2 <= size) return
      leader = alive.find((state) => state !== candidate) ?? alive[0]
      store.forgetCommittedIds()
    })
  }

  function lose(state: State): void {
    state.isAlive = false
    if (leader === state) elect(state)
  }

  for (const state of states) await start(state)
  leader = states[0]

  const nodes = states.map((state): ClusterNode => {
    return {
      get port() {
        return state.port
      },
      async kill() {
        const { running } = state
        state.running = undefined
        lose(state)
        await running?.close()
      },
      start: () => start(state),
      freeze() {
        state.isFrozen = true
        state.running?.freeze()
        setTimeout(() => state.isFrozen && lose(state), heartbeatMs).unref()
      },
      thaw() {
        state.isFrozen = false
        state.isAlive = true
        state.running?.thaw()
        if (leader === undefined) elect()
      },
      resign() {
        if (leader === state) elect(state)
      },
      node() {
        if (state.running === undefined) throw new Error('the node is not running')
        return state.running
      },
    }
  })
  const hosts = states.map(({ port }) => `127.0.0.1:${port}`).join(',')

  return {
    store,
    nodes,
    connectionString: `esdb://${hosts}?tls=false`,
    discoverString: `esdb+discover://${hosts}?tls=false`,
    async leader() {
      await election
      const found = leader && nodes[states.indexOf(leader)]
      if (found === undefined) throw new Error('no leader was elected')
      return found
    },
    holdElections() {
      let release = () => {}
      held = new Promise((resolve) => {
        release = resolve
      })
      return () => {
        held = undefined
        release()
      }
    },
    async stop() {
      for (const { running } of states) await running?.close()
      store.close()
    },
  }
}
