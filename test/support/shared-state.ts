import { pino } from 'pino'
import { connectToPrimary } from '../../config/cluster/primary-connection.ts'
import type { WorkerMethods } from '../../config/cluster/rpc-methods.ts'
import { createMemorySharedState } from '../../core/shared-state/memory.ts'
import { type SharedStateMethods, serveSharedState } from '../../core/shared-state/over-rpc.ts'
import { openRedisSharedState } from '../../core/shared-state/redis.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import { createRpcPeer } from '../../core/threads/rpc.ts'
import { type RunningRedis, startRedis } from './redis.ts'
import { skip } from './skip.ts'
import { pairOfWires } from './wires.ts'

/** Two workers of one primary. */
function connectTwoWorkers(): readonly SharedState[] {
  const state = createMemorySharedState()
  return [1, 2].map((number) => {
    const [ofPrimary, ofWorker] = pairOfWires()
    createRpcPeer<WorkerMethods, SharedStateMethods>(ofPrimary, serveSharedState(state))
    return connectToPrimary(ofWorker, { number, port: 0, routePort: 0, sandboxUrl: undefined }).sharedState
  })
}

export function connectToRedis(url: string, timeoutMs = 60_000): Promise<SharedState> {
  return openRedisSharedState({ url, timeoutMs }, pino({ level: 'silent' }))
}

/** Describes what holds in each place. `get` returns the state as each process sees it. */
export function describeEachPlace(specify: (get: () => readonly SharedState[]) => void): void {
  describe('in memory', () => {
    const states = [createMemorySharedState()]
    specify(() => states)
  })
  describe('in the primary process, used by two workers', () => {
    const states = connectTwoWorkers()
    specify(() => states)
  })
  describe('in Redis, used by two connections', () => {
    let redis: RunningRedis | undefined
    let states: readonly SharedState[] = []
    before(async function () {
      redis = await startRedis()
      if (redis === undefined) skip(this, 'redis-server is not installed')
      states = [await connectToRedis(redis.url), await connectToRedis(redis.url)]
    })
    after(async () => {
      await Promise.all(states.map((state) => state.close()))
      await redis?.stop()
    })
    specify(() => states)
  })
}
