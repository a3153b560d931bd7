import { BUILT_IN, installAll, listPlugins } from './plugins.ts'

/** A plugin whose endpoints use the counters and the store. */
const TALLY = `import { endpoint, SharedStateUnavailableError, StrictObject, Type, user } from 'signalbox'
const value = { n: Type.Integer() }
const declare = (method, operationId, handle) => endpoint({
  method, path: '/v1/tally', access: user(), operationId, summary: 'Tallies.', tags: ['tally'],
  ...(method === 'PUT' && { body: StrictObject(value) }),
  responses: { 200: { description: 'The result.' } },
  async handle(call) {
    try {
      return { status: 200, body: { data: await handle(call) } }
    } catch (error) {
      if (!SharedStateUnavailableError.isInstance(error)) throw error
      return { status: 200, body: { unavailable: error.message } }
    }
  },
})
export default {
  name: 'tally',
  contract: 3,
  after: ['auth'],
  setup: (_, { counters, store }) => ({
    endpoints: [
      declare('POST', 'count', () => counters.add('requests', 1, 60)),
      declare('GET', 'read', async () => ({ ...(await counters.read('requests')), record: await store.get('record') })),
      declare('PUT', 'keep', ({ body }) => store.set('record', body, 60)),
      declare('DELETE', 'drop', () => store.delete('record')),
    ],
  }),
}`

/** Installs the plugin. Returns the folder and the settings that list it, at the end of the list. */
export async function installTally(
  list: readonly string[] = BUILT_IN,
): Promise<{ readonly folder: string; readonly CONFIG: string }> {
  const folder = await installAll({ tally: TALLY })
  return { folder, CONFIG: await listPlugins(folder, [...list, 'tally']) }
}
