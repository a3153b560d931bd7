import { definePlugin, settingsOf } from '../../core/contract/index.ts'
import { HeldReservations } from '../../core/shared-state/held-reservations.ts'
import { LeasedCounters } from '../../core/shared-state/leased-counters.ts'
import { SharedState } from '../../core/shared-state/shared-state.ts'
import { RateLimits, ToolCallLimit } from './index.ts'
import { createRequestLimit, createToolCallLimit } from './request-limit.ts'
import { RATE_LIMIT_ERROR_CODES, type RateLimitSettings, WINDOW_SECONDS } from './settings.ts'
import { createUsageLimit } from './usage-limit.ts'

/**
 * Limits the requests per minute of each user on all authenticated endpoints, and the tokens per minute and
 * the requests at the same time on inference endpoints, and the calls of tools per minute (docs/api.md,
 * "Limits").
 */
export default definePlugin({
  name: 'rate-limit',
  after: ['auth'],
  uses: { settings: settingsOf<RateLimitSettings>('rate_limits'), shared: SharedState },
  provides: [RateLimits, ToolCallLimit],
  replay: {
    type: 'recorded',
    why:
      'The limit of requests per minute is not evaluated: it counts before rules do. ' +
      'Drafts do not change it.',
  },
  async setup(_, { use: { settings, shared }, provide, metrics }) {
    provide(RateLimits, settings)
    const held = new HeldReservations(shared.reservations('usage'))
    await held.start()
    const permits = new LeasedCounters(shared.counters('requests'), WINDOW_SECONDS)
    const calls = new LeasedCounters(shared.counters('tool-calls'), WINDOW_SECONDS)
    provide(ToolCallLimit, createToolCallLimit(settings, calls, metrics))
    return {
      errorCodes: RATE_LIMIT_ERROR_CODES,
      admit: createRequestLimit(settings, permits, metrics),
      ...createUsageLimit(settings, held, metrics),
      async close() {
        permits.close()
        calls.close()
        await held.close()
      },
    }
  },
})
