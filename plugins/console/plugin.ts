import {
  definePlugin,
  optional,
  type Static,
  StrictObject,
  settingsOf,
  Type,
} from '../../core/contract/index.ts'
import { shippedFile } from '../../core/util/package-folder.ts'
import { GatewayState } from '../../projections/state.ts'
import { Access } from '../auth/index.ts'
import { CONSOLE_ERROR_CODES, type ConsoleProvider, createSessionEndpoints } from './session-endpoints.ts'
import { createStaticEndpoints, STATIC_ERROR_CODES } from './static-endpoints.ts'

const consoleOptions = StrictObject({
  playground: Type.Boolean({ default: true }),
})

/** What the playground sends. */
const CHATS = '/v1/chat/completions'

/**
 * Serves the console at `/console/`, and its sessions. See
 * docs/decisions/console.md, "The console has only what everybody has".
 */
export default definePlugin({
  name: 'console',
  after: ['auth'],
  uses: {
    access: Access,
    state: GatewayState,
    identity: optional(settingsOf<{ readonly console?: ConsoleProvider }>('identity')),
  },
  options: consoleOptions,
  setup({ playground }: Static<typeof consoleOptions>, { use: { access, state, identity } }) {
    if (playground) access.sessions.allowInference(CHATS)
    return {
      errorCodes: { ...STATIC_ERROR_CODES, ...CONSOLE_ERROR_CODES },
      endpoints: [
        ...createSessionEndpoints(access.sessions, state.operators, playground, identity?.console),
        ...createStaticEndpoints(shippedFile('dist/plugins/console/static')),
      ],
    }
  },
})
