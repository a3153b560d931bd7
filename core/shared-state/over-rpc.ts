import { type CounterValue, SharedStateUnavailableError } from '../contract/index.ts'
import type { RpcHandlers, RpcPeer } from '../threads/rpc.ts'
import { errorMessage } from '../util/error-message.ts'
import type {
  CounterUse,
  Lease,
  Membership,
  OpenReservation,
  Registration,
  ReservationCall,
  ReservationEntry,
  ReservationOutcome,
} from './reservations.ts'
import type { SharedState, WindowCount } from './shared-state.ts'

interface Entry {
  readonly namespace: string
  readonly key: string
}

type Empty = Readonly<Record<never, never>>

interface Texts {
  readonly texts: readonly string[]
}

interface InNamespace {
  readonly namespace: string
  readonly call: ReservationCall
}

interface MaybeMembership {
  readonly membership?: Membership | undefined
}

/** RPC methods of the process that keeps the state. */
export type SharedStateMethods = {
  addToCounter: {
    params: Entry & { readonly amount: number; readonly windowSeconds: number }
    result: WindowCount
  }
  giveBackToCounter: { params: Entry & { readonly amount: number; readonly window: number }; result: Empty }
  readCounter: { params: Entry; result: CounterValue }
  joinReservations: {
    params: InNamespace & { readonly registration: Registration; readonly lease: Lease }
    result: MaybeMembership
  }
  renewReservations: {
    params: InNamespace & { readonly reservations: readonly OpenReservation[]; readonly lease: Lease }
    result: MaybeMembership
  }
  reserve: {
    params: InNamespace & {
      readonly id: string
      readonly entries: readonly ReservationEntry[]
      readonly holdMs: number
    }
    result: ReservationOutcome
  }
  settleReservation: {
    params: InNamespace & { readonly reservation: OpenReservation; readonly used: readonly number[] }
    result: { readonly isMember: boolean }
  }
  readReservations: {
    params: { readonly namespace: string; readonly keys: readonly string[] }
    result: { readonly counters: readonly (CounterUse | null)[] }
  }
  getStored: { params: Entry; result: { readonly json?: string } }
  setStored: { params: Entry & { readonly json: string; readonly ttlSeconds: number }; result: Empty }
  deleteStored: { params: Entry; result: Empty }
  addToSet: {
    params: Entry & { readonly texts: readonly string[]; readonly ttlSeconds: number }
    result: Texts
  }
  readSet: { params: Entry; result: Texts }
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
    joinReservations: async ({ namespace, call, registration, lease }) => ({
      membership: await state.reservations(namespace).join(call, registration, lease),
    }),
    renewReservations: async ({ namespace, call, reservations, lease }) => ({
      membership: await state.reservations(namespace).renew(call, reservations, lease),
    }),
    reserve: ({ namespace, call, id, entries, holdMs }) =>
      state.reservations(namespace).reserve(call, id, entries, holdMs),
    settleReservation: async ({ namespace, call, reservation, used }) => ({
      isMember: await state.reservations(namespace).settle(call, reservation, used),
    }),
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
    addToSet: async ({ namespace, key, texts, ttlSeconds }) => ({
      texts: await state.sets(namespace).add(key, texts, ttlSeconds),
    }),
    readSet: async ({ namespace, key }) => ({ texts: await state.sets(namespace).read(key) }),
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
      join: async (sender, registration, lease) =>
        (await call('joinReservations', { namespace, call: sender, registration, lease })).membership,
      renew: async (sender, reservations, lease) =>
        (await call('renewReservations', { namespace, call: sender, reservations, lease })).membership,
      reserve: (sender, id, entries, holdMs) =>
        call('reserve', { namespace, call: sender, id, entries, holdMs }),
      settle: async (sender, reservation, used) =>
        (await call('settleReservation', { namespace, call: sender, reservation, used })).isMember,
      read: async (keys) => (await call('readReservations', { namespace, keys })).counters,
    }),
    store: (namespace) => ({
      get: async (key) => (await call('getStored', { namespace, key })).json,
      set: async (key, json, ttlSeconds) =>
        void (await call('setStored', { namespace, key, json, ttlSeconds })),
      delete: async (key) => void (await call('deleteStored', { namespace, key })),
    }),
    sets: (namespace) => ({
      add: async (key, texts, ttlSeconds) =>
        (await call('addToSet', { namespace, key, texts, ttlSeconds })).texts,
      read: async (key) => (await call('readSet', { namespace, key })).texts,
    }),
    close: async () => undefined,
  }
}
