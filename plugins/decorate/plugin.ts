import { type Decoration, definePlugin, type RepliedExchange, settingsOf } from '../../core/contract/index.ts'
import { type ChooseForm, createFormChooser, type FormSetting } from '../../core/dialects/response-form.ts'
import { buildMetadata, buildSignalboxFields, NO_PROVIDER } from '../../core/dialects/signalbox-fields.ts'

/**
 * Adds provider, model, mode, latency, cost and warnings to every response
 * (docs/api.md, "Metadata and warnings").
 */
export default definePlugin({
  name: 'decorate',
  after: ['dispatch'],
  replay: { type: 'pure' },
  uses: { responses: settingsOf<{ readonly form: FormSetting }>('responses') },
  setup(_, { use }) {
    const chooseForm = createFormChooser(use.responses.form)
    return {
      decide({ headers }) {
        // An invalid header is refused before a provider is called.
        if (headers['x-response-form'] !== undefined) chooseForm(headers)
      },
      inspect(exchange) {
        exchange.decoration = buildDecoration(exchange, chooseForm)
        return undefined
      },
    }
  },
})

function buildDecoration(exchange: RepliedExchange, chooseForm: ChooseForm): Decoration {
  const provider = exchange.target?.provider ?? NO_PROVIDER
  const deployment = exchange.target?.deployment
  const routing_mode = exchange.route?.mode ?? 'balance'
  const form = chooseForm(exchange.headers)
  const headers: [name: string, value: string][] = [
    ['x-provider', provider],
    ['x-model', exchange.target?.model ?? exchange.request.model ?? ''],
    ['x-routing-mode', routing_mode],
  ]
  if (deployment !== undefined) headers.push(['x-deployment', deployment])
  const first = (): Record<string, unknown> => {
    const signalbox = buildSignalboxFields(exchange)
    const metadata = buildMetadata(exchange.metadata, signalbox, form)
    return { provider, routing_mode, x_request_id: exchange.id, metadata, signalbox }
  }
  const last = () => {
    const fields = first()
    fields.latency_ms = Math.round(performance.now() - exchange.startedAt)
    return fields
  }
  return { headers, first, last }
}
