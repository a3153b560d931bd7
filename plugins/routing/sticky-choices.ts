import {
  type Exchange,
  type PluginParts,
  type RecordStore,
  type RepliedExchange,
  type RoutingDraft,
  slot,
} from '../../core/contract/index.ts'
import { StoredReply } from '../../core/pipeline/usage-recorder.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { RecordedKept } from '../ledger/index.ts'
import { conversationKeys } from './conversation-key.ts'
import { Conversations } from './conversations.ts'
import { Conversation, RecordedConversation, type StickyChoice } from './kept-model.ts'
import type { RequestedModel } from './requested-model.ts'

interface StickyChoices extends Pick<PluginParts, 'inspect'> {
  /** Returns the conversation of a request whose model is chosen automatically. */
  open(
    exchange: Exchange,
    requested: RequestedModel,
    draft: RoutingDraft,
  ): MaybePromise<StickyChoice | undefined>
}

const openConversation = slot<Conversation>('routing.conversation')

/** Remembers conversations for `seconds` after a reply; 0: only those that are recorded are kept again. */
export function createStickyChoices(
  { seconds }: { readonly seconds: number },
  store: Pick<RecordStore, 'get' | 'set'>,
): StickyChoices {
  const openRecorded = (exchange: Exchange) => {
    const recorded = RecordedKept.of(exchange)
    return recorded && new RecordedConversation(recorded)
  }
  if (seconds === 0)
    return { open: (exchange) => (exchange.isSimulated ? openRecorded(exchange) : undefined) }
  const conversations = new Conversations(store, seconds)

  function remember(exchange: RepliedExchange, conversation: Conversation): void {
    const { route, target, usage } = exchange
    if (route === undefined || target?.entry === undefined || usage === undefined || usage.isEstimated) return
    const turn = conversation.nextTurn(route.mode, target.entry, usage)
    if (turn === undefined) return
    const { deployment } = target
    const at = Date.now()
    conversations.remember(conversation.nextKeys, { ...turn, ...(deployment && { deployment }), at })
  }

  return {
    open(exchange, requested, draft) {
      if (exchange.isSimulated) return openRecorded(exchange)
      if (!isAutomatic(exchange, requested, draft)) return undefined
      const keys = conversationKeys(exchange)
      if (keys === undefined) return undefined
      return chain(conversations.find(keys.key), (last) => {
        const conversation = new Conversation(keys.next, last)
        openConversation.set(exchange, conversation)
        return conversation
      })
    },
    inspect(exchange) {
      const conversation = openConversation.of(exchange)
      if (conversation === undefined || StoredReply.of(exchange)) return undefined
      // Before the client has the reply, so that another process knows it at the next turn.
      if (exchange.reply.type === 'whole' && exchange.usage) remember(exchange, conversation)
      else exchange.client.onClose(() => remember(exchange, conversation))
      return undefined
    },
  }
}

/** Whether neither the request nor a rule names the model. */
function isAutomatic(
  { operation = 'chat', preferences }: Exchange,
  requested: RequestedModel,
  { model, provider, mode }: RoutingDraft,
): boolean {
  if (operation !== 'chat' || model !== undefined || preferences.length > 0) return false
  return requested.type === 'auto' || provider !== undefined || mode !== undefined
}
