import { createTextTransform, definePlugin, StrictObject, Type } from 'signalbox'

/** Replaces phrases in replies, whole and streamed, and in the arguments of tool calls. */
export default definePlugin({
  name: 'signalbox-example',
  contract: 3,
  options: StrictObject({
    phrases: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, default: ['Project X'] }),
  }),
  setup: ({ phrases }) => ({
    inspect: () => createTextTransform({ phrase: phrases, replaceWith: '[removed]' }),
  }),
})
