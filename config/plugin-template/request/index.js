import { GatewayError, StrictObject, Type } from 'signalbox'

/** Rejects requests with too many messages, before any provider is called. */
export default {
  name: 'signalbox-example',
  contract: 3,
  after: ['auth'],
  options: StrictObject({ max_messages: Type.Integer({ minimum: 1, default: 100 }) }),
  setup: ({ max_messages }) => ({
    decide({ request: { messages } }) {
      if (messages.length <= max_messages) return
      const message = `A request may have at most ${max_messages} messages, not ${messages.length}.`
      throw new GatewayError('invalid_value', message, { param: 'messages' })
    },
  }),
}
