import { definePlugin } from 'signalbox'

/** Adds a condition on the header `x-team` and an action that instructs the model to routing rules. */
export default definePlugin({
  name: 'signalbox-example',
  contract: 3,
  setup: () => ({
    conditions: [
      {
        name: 'team',
        description: 'the name of a team',
        schema: { type: 'string', minLength: 1 },
        headers: ['x-team'],
        matcher: (team) => (input) => input.headers['x-team'] === team,
      },
    ],
    actions: [
      {
        name: 'instruct',
        description: 'a text',
        schema: { type: 'string', minLength: 1 },
        combine: 'all',
        apply(content, draft) {
          const messages = [{ role: 'system', content }, ...draft.request.messages]
          draft.request = { ...draft.request, messages }
        },
      },
    ],
  }),
})
