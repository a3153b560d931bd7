import { chatAdapter, clamp, definePlugin, drop, rename } from 'signalbox'

/** A provider whose API is OpenAI's chat completions but for some fields of requests. */
const acme = chatAdapter({
  format: 'acme',
  fields: {
    max_completion_tokens: rename('max_tokens'),
    temperature: clamp(0, 1),
    logit_bias: drop,
  },
})

export default definePlugin({
  name: 'signalbox-example',
  contract: 3,
  setup: () => ({ providers: [acme] }),
})
