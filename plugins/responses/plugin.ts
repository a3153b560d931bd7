import { definePlugin, settingsOf } from '../../core/contract/index.ts'
import { createFormChooser, type FormSetting } from '../../core/dialects/response-form.ts'
import { SocketEndpoint } from '../../core/http/server/socket-server.ts'
import { Callers } from '../../projections/callers.ts'
import { GatewayState } from '../../projections/state.ts'
import { TokenCounter } from '../../providers/shared/token-counter.ts'
import { LedgerStore } from '../ledger/index.ts'
import { createCompactDialect } from './compact.ts'
import { CONVERSATION_ERROR_CODES } from './conversation.ts'
import { createActiveCalls, createResponsesDialect } from './dialect.ts'
import { createResponseEndpoints } from './endpoints.ts'
import { Responses } from './index.ts'
import { createInputTokensEndpoint } from './input-tokens.ts'
import { createSessionMemory } from './session-memory.ts'
import { createSocketEndpoint, RESPONSES_SOCKET, SOCKET_ERROR_CODES } from './socket.ts'
import { createResponseRecorder, createResponseStore, STORE_ERROR_CODES } from './store.ts'

const DAY_MS = 24 * 60 * 60 * 1000

interface ResponsesSettings {
  readonly form: FormSetting
  readonly retention_days: number
}

/** The Responses API: serves `POST /v1/responses`, stores responses and replays them. */
export default definePlugin({
  name: 'responses',
  after: ['auth'],
  uses: {
    state: GatewayState,
    ledger: LedgerStore,
    settings: settingsOf<ResponsesSettings>('responses'),
    callers: Callers,
    counter: TokenCounter,
  },
  provides: [Responses, SocketEndpoint],
  setup(_, host) {
    const { counter, callers, settings, ledger, state } = host.use
    const chooseForm = createFormChooser(settings.form)
    const store = createResponseStore(ledger, state.accounts, settings.retention_days * DAY_MS)
    host.provide(Responses, store)
    host.provide(SocketEndpoint, RESPONSES_SOCKET)
    const activeCalls = createActiveCalls()
    const memory = createSessionMemory()
    const recorder = createResponseRecorder(store, memory, host.logger, host.metrics)
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
        createInputTokensEndpoint(store, callers, host, counter),
        createSocketEndpoint(),
        ...createResponseEndpoints(store, activeCalls, chooseForm),
      ],
      errorCodes: { ...SOCKET_ERROR_CODES, ...STORE_ERROR_CODES, ...CONVERSATION_ERROR_CODES },
      close() {
        store.close()
        return counter.close()
      },
    }
  },
})
