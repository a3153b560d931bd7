import { ReservationMember } from '../../core/shared-state/reservation-member.ts'
import type {
  OpenReservation,
  ReservationEntry,
  ReservationOutcome,
  SharedReservations,
} from '../../core/shared-state/reservations.ts'
import { waitUntil } from './wait.ts'

const HOLD_MS = 60_000
const LEASE = { leaseMs: 30_000, holdMs: HOLD_MS }

let lastMember = 0

/** A member that sends its commands without any help, as soon as it has joined. */
export class ReservationClient {
  readonly state: SharedReservations
  readonly member = new ReservationMember(`member${++lastMember}`)

  constructor(state: SharedReservations) {
    this.state = state
  }

  /** Resolves when reservations can be made. */
  async join(): Promise<this> {
    for (const part of this.member.registrations(0)) {
      const membership = await this.state.join(this.member.call(), part, LEASE)
      if (membership !== undefined) this.member.joined(membership)
    }
    await waitUntil(async () => (await this.state.renew(this.member.call(), [], LEASE))?.isReady === true)
    return this
  }

  /** Joins a new generation with these reservations. */
  async rejoin(open: readonly OpenReservation[]): Promise<void> {
    const [registration] = this.member.registrations(0)
    if (registration === undefined) return
    const membership = await this.state.join(this.member.call(), { ...registration, open }, LEASE)
    if (membership !== undefined) this.member.joined(membership)
  }

  /** Returns the outcome with the reservation to settle. */
  async reserve(
    entries: readonly ReservationEntry[],
    holdMs = HOLD_MS,
  ): Promise<ReservationOutcome & { readonly open: OpenReservation }> {
    const id = this.member.newId()
    const outcome = await this.state.reserve(this.member.call(), id, entries, holdMs)
    const open = entries.map(({ key, amount }, index) => {
      return { key, amount, window: outcome.counters[index]?.window ?? 0 }
    })
    return { ...outcome, open: { id, entries: open } }
  }

  async settle(reservation: OpenReservation, used: readonly number[]): Promise<boolean> {
    return this.state.settle(this.member.call(), reservation, used)
  }

  async renew(reservations: readonly OpenReservation[], holdMs = HOLD_MS): Promise<void> {
    await this.state.renew(this.member.call(), reservations, { ...LEASE, holdMs })
  }
}
