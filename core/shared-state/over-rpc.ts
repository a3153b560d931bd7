import { type CounterValue, SharedStateUnavailableError } from '../contract/index.ts'
import type { RpcHandlers, RpcPeer } from '../process/rpc.ts'
import { errorMessage } from '../util/error-message.ts'
import type { CounterUse, OpenReservation, ReservationEntry, ReservationOutcome } from './reservations.ts'
import type { SharedState, WindowCount } from './shared-state.ts'

interface Entry {
  readonly namespace: string
  readonly key: string
}

type Empty = Readonly<Record<never, never>>

/** RPC methods of the process that keeps the state. */
export type SharedStateMethods = {
  addToCounter: {
    params: Entry & { readonly amount: number; readonly windowSeconds: number }
    result: WindowCount
  }
  giveBackToCounter: { params: Entry & { readonly amount: number; readonly window: number }; result: Empty }
  readCounter: { params: Entry; result: CounterValue }
  reserve: {
    params: {
      readonly namespace: string
      readonly id: string
      readonly entries: readonly ReservationEntry[]
      readonly holdMs: number
    }
    result: ReservationOutcome
  }
  settleReservation: {
    params: {
      readonly namespace: string
      readonly reservation: OpenReservation
      readonly used: readonly number[]
    }
    result: Empty
  }
  renewReservations: {
    params: {
      readonly namespace: string
      readonly reservations: readonly OpenReservation[]
      readonly holdMs: number
    }
    result: Empty
  }
  readReservations: {
    params: { readonly namespace: string; readonly keys: readonly string[] }
    result: { readonly counters: readonly (CounterUse | null)[] }
  }
  getStored: { params: Entry; result: { readonly json?: string } }
  setStored: { params: Entry & { readonly json: string; readonly ttlSeconds: number }; result: Empty }
  deleteStored: { params: Entry; result: Empty }
}

/** Returns the handlers of the process that keeps the state. */
export function serveSharedState(state: SharedState): RpcHandlers<SharedStateMethods> {
  return {
    addToCounter: ({ namespace, key, amount, windowSeconds }) =>
      state.counters(namespace).add(key, amount, windowSeconds),
    async giveBackToCounter({ namespace, key, amount, window }) {
      await state.counters(namespace).giveBack(key, amount, window)
      return {}
    },
    readCounter: ({ namespace, key }) => state.counters(namespace).read(key),
    reserve: ({ namespace, id, entries, holdMs }) =>
      state.reservations(namespace).reserve(id, entries, holdMs),
    async settleReservation({ namespace, reservation, used }) {
      await state.reservations(namespace).settle(reservation, used)
      return {}
    },
    async renewReservations({ namespace, reservations, holdMs }) {
      await state.reservations(namespace).renew(reservations, holdMs)
      return {}
    },
    readReservations: async ({ namespace, keys }) => ({
      counters: await state.reservations(namespace).read(keys),
    }),
    async getStored({ namespace, key }) {
      const json = await state.store(namespace).get(key)
      return json === undefined ? {} : { json }
    },
    async setStored({ namespace, key, json, ttlSeconds }) {
      await state.store(namespace).set(key, json, ttlSeconds)
      return {}
    },
    async deleteStored({ namespace, key }) {
      await state.store(namespace).delete(key)
      return {}
    },
  }
}

type Request = RpcPeer<SharedStateMethods>['request']

/** Uses the state of another process. Each call waits at most `timeoutMs`. */
export function createRemoteSharedState(request: Request, timeoutMs: number): SharedState {
  const call: <Method extends keyof SharedStateMethods>(
    method: Method,
    params: SharedStateMethods[Method]['params'],
  ) => Promise<SharedStateMethods[Method]['result']> = (method, params) =>
    request(method, params, timeoutMs).catch((error: unknown) => {
      throw new SharedStateUnavailableError(errorMessage(error))
    })
  return {
    counters: (namespace) => ({
      add: (key, amount, windowSeconds) => call('addToCounter', { namespace, key, amount, windowSeconds }),
      giveBack: async (key, amount, window) =>
        void (await call('giveBackToCounter', { namespace, key, amount, window })),
      read: (key) => call('readCounter', { namespace, key }),
    }),
    reservations: (namespace) => ({
      reserve: (id, entries, holdMs) => call('reserve', { namespace, id, entries, holdMs }),
      settle: async (reservation, used) =>
        void (await call('settleReservation', { namespace, reservation, used })),
      renew: async (reservations, holdMs) =>
        void (await call('renewReservations', { namespace, reservations, holdMs })),
      read: async (keys) => (await call('readReservations', { namespace, keys })).counters,
    }),
    store: (namespace) => ({
      get: async (key) => (await call('getStored', { namespace, key })).json,
      set: async (key, json, ttlSeconds) =>
        void (await call('setStored', { namespace, key, json, ttlSeconds })),
      delete: async (key) => void (await call('deleteStored', { namespace, key })),
    }),
    close: async () => undefined,
  }
}
