import type { Account, EventLog, Plugin } from '../../core/contract/index.ts'
import type { ChooseForm } from '../../core/dialects/response-form.ts'
import type { CallerSnapshot } from '../../core/pipeline/inference.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { TokenCounter } from '../../providers/shared/token-counter.ts'
import { createCompactDialect } from './compact-dialect.ts'
import { createActiveCalls, createResponsesDialect } from './dialect.ts'
import { createResponseEndpoints } from './endpoints.ts'
import { createInputTokensEndpoint } from './input-tokens.ts'
import { createSessionMemory } from './session-memory.ts'
import { createSocketEndpoint, SOCKET_ERROR_CODES } from './socket-endpoint.ts'
import { createResponseRecorder, createResponseStore } from './store.ts'

const DAY_SECONDS = 24 * 60 * 60

/** The Responses API: serves `POST /v1/responses`, stores responses for `retentionDays` and replays them. */
export function createResponses(
  log: EventLog,
  accounts: Pick<Accounts, 'ownerOfKey'>,
  retentionDays: number,
  chooseForm: ChooseForm,
  snapshotCaller: (account: Account) => CallerSnapshot,
  counter: TokenCounter,
): Plugin {
  return {
    name: 'responses',
    after: ['auth'],
    setup(_, host) {
      const store = createResponseStore(log, accounts, Math.ceil(retentionDays * DAY_SECONDS))
      const activeCalls = createActiveCalls()
      const memory = createSessionMemory()
      const recorder = createResponseRecorder(store, memory, host.logger)
      return {
        async rejected(exchange, error) {
          const call = activeCalls.get(exchange)
          if (call !== undefined) await recorder.recordFailure(exchange, call, error)
        },
        dialects: {
          '/v1/responses': createResponsesDialect(store, activeCalls, recorder, chooseForm, memory),
          '/v1/responses/compact': createCompactDialect(store.find),
        },
        endpoints: [
          // Before the endpoints whose paths have an id in its place.
          createInputTokensEndpoint(store, snapshotCaller, host, counter),
          createSocketEndpoint(),
          ...createResponseEndpoints(store, activeCalls, chooseForm),
        ],
        errorCodes: SOCKET_ERROR_CODES,
        close: () => counter.close(),
      }
    },
  }
}
