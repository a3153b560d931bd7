import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createSealer } from '../../../core/secrets/sealer.ts'
import type { SecretFile } from '../../../core/secrets/secret-file.ts'
import type { SharedCounters, SharedState, SharedStore } from '../../../core/shared-state/shared-state.ts'
import { isEqualText } from '../../../core/util/equal-text.ts'
import type { GrantClient } from '../../../projections/events/grants.ts'

/** No vowels, so that no code is a word (RFC 8628, 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'

const LIFETIME_SECONDS = 600

/** Programs ask for their token at most this often. */
export const POLL_SECONDS = 5

/** Per address, in this time. */
const LIMIT_SECONDS = 600
const MAX_STARTS = 30
const MAX_WRONG_CODES = 10

/** A program that waits until somebody approves its code. */
export interface DeviceCode {
  readonly userCode: string
  /** SHA-256 of the device code. */
  readonly device: string
  readonly client: GrantClient
  /** Of the program. */
  readonly address: string
  readonly expiresAtMs: number
  readonly outcome?: 'approved' | 'denied'
  readonly grantId?: string
  /** The refresh token of the identity provider, sealed. */
  readonly sealed?: string
}

export type Polled =
  | { readonly error: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' }
  | {
      readonly approved: DeviceCode
      /** What asking the identity provider about the person needs. */
      readonly provider: string | undefined
    }

/** What somebody has decided about a code. */
export interface Decision {
  readonly outcome: 'approved' | 'denied'
  readonly grantId?: string
  readonly provider?: string | undefined
}

/** Codes of programs that sign in, in the shared state: who starts one is unknown, so nothing is an event. */
export interface DeviceCodes {
  /** Resolves with undefined for an address that starts too many. */
  start(client: GrantClient, address: string): Promise<{ deviceCode: string; code: DeviceCode } | undefined>
  /** Finds a pending code as somebody typed it. `limited`: the address has tried too many wrong ones. */
  find(typed: string, address: string): Promise<DeviceCode | 'unknown' | 'limited'>
  /** A pending code by its letters. */
  pending(userCode: string): Promise<DeviceCode | undefined>
  /** Somebody has decided. Resolves with false if somebody else has, or the code has expired. */
  decide(code: DeviceCode, decision: Decision): Promise<boolean>
  /** What becomes of the program that has the device code. Does not use it up: see `remove`. */
  poll(deviceCode: string): Promise<Polled>
  remove(code: DeviceCode): Promise<void>
}

export function createDeviceCodes(state: SharedState, secret: SecretFile): DeviceCodes {
  const store: SharedStore = state.store('sign-ins')
  const counters: SharedCounters = state.counters('sign-ins')
  const providers = createSealer(secret, 'approved sign-ins')

  /** So one record finds the code by either: nobody can compute one from the other without the secret. */
  function toUserCode(deviceCode: string): string {
    const digest = createHmac('sha256', secret.readOrCreate()).update(`user code\n${deviceCode}`).digest()
    let value = digest.readUIntBE(0, 6)
    let code = ''
    for (let index = 0; index < 8; index++) {
      code += LETTERS.charAt(value % LETTERS.length)
      value = Math.floor(value / LETTERS.length)
    }
    return code
  }

  async function read(userCode: string): Promise<DeviceCode | undefined> {
    const json = await store.get(userCode)
    const code: DeviceCode | undefined = json === undefined ? undefined : JSON.parse(json)
    return code !== undefined && Date.now() < code.expiresAtMs ? code : undefined
  }

  const write = (code: DeviceCode) =>
    store.set(code.userCode, JSON.stringify(code), Math.max(1, (code.expiresAtMs - Date.now()) / 1000))

  async function pending(userCode: string): Promise<DeviceCode | undefined> {
    const code = await read(userCode)
    return code?.outcome === undefined ? code : undefined
  }

  return {
    pending,
    async start(client, address) {
      const { total } = await counters.add(`start:${address}`, 1, LIMIT_SECONDS)
      if (total > MAX_STARTS) return undefined
      let deviceCode = randomBytes(32).toString('base64url')
      while ((await read(toUserCode(deviceCode))) !== undefined)
        deviceCode = randomBytes(32).toString('base64url')
      const code: DeviceCode = {
        userCode: toUserCode(deviceCode),
        device: hashOf(deviceCode),
        ...{ client, address, expiresAtMs: Date.now() + LIFETIME_SECONDS * 1000 },
      }
      await write(code)
      return { deviceCode, code }
    },
    async find(typed, address) {
      const { total } = await counters.read(`wrong:${address}`)
      if (total >= MAX_WRONG_CODES) return 'limited'
      const userCode = typed.toUpperCase().replaceAll(/[^A-Z]/g, '')
      const code = userCode.length === 8 ? await pending(userCode) : undefined
      if (code !== undefined) return code
      await counters.add(`wrong:${address}`, 1, LIMIT_SECONDS)
      return 'unknown'
    },
    async decide(code, { provider, ...decision }) {
      // The first of two decisions at once counts.
      const { total } = await counters.add(`decide:${code.device}`, 1, LIFETIME_SECONDS)
      const current = total === 1 ? await read(code.userCode) : undefined
      if (current === undefined) return false
      const sealed = provider && { sealed: providers.seal({ provider }, code.device) }
      await write({ ...current, ...decision, ...sealed })
      return true
    },
    async poll(deviceCode) {
      const userCode = toUserCode(deviceCode)
      const code = await read(userCode)
      if (code === undefined || !isEqualText(code.device, hashOf(deviceCode)))
        return { error: 'expired_token' }
      if (code.outcome === 'denied') {
        await store.delete(userCode)
        return { error: 'access_denied' }
      }
      // Clocks of clients differ from ours by less than a second in five.
      const { total } = await counters.add(`poll:${code.device}`, 1, POLL_SECONDS - 1)
      if (total > 1) return { error: 'slow_down' }
      if (code.outcome === undefined) return { error: 'authorization_pending' }
      const opened = code.sealed === undefined ? undefined : providers.open(code.sealed, code.device)
      const provider = typeof opened?.provider === 'string' ? opened.provider : undefined
      return { approved: code, provider }
    },
    async remove({ userCode }) {
      await store.delete(userCode)
    },
  }
}

/** `BCDF-GHJK` */
export function formatUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`
}

function hashOf(deviceCode: string): string {
  return createHash('sha256').update(deviceCode).digest('hex')
}
