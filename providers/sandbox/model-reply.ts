import type { Usage } from '../../core/contract/index.ts'
import {
  chooseTools,
  type ModelReply,
  type ModelRequest,
  type ReplyStamp,
  type ToolDefinition,
} from './model-request.ts'
import { sampleJson } from './sample-json.ts'
import { countTokens, truncateToTokens } from './tokens.ts'

/** The sandbox's answer to a question: always the same for the same question. */
export function buildModelReply(question: ModelRequest, stamp: ReplyStamp): ModelReply {
  const tools = chooseTools(question)
  return tools.length > 0 ? buildToolCallReply(question, tools, stamp) : buildTextReply(question, stamp)
}

/** The answer of a model that does not want to give one. */
export function buildModelRefusal(question: ModelRequest, stamp: ReplyStamp): ModelReply {
  return {
    ...stamp,
    model: question.model,
    text: '',
    refusal: 'The sandbox was asked to refuse.',
    toolCalls: [],
    finish: 'content_filter',
    usage: countUsage(question, '', ''),
  }
}

function buildToolCallReply(
  question: ModelRequest,
  tools: readonly ToolDefinition[],
  stamp: ReplyStamp,
): ModelReply {
  const toolCalls = tools.map(({ name, schema }, index) => ({
    id: `call_${stamp.id}${index}`,
    name,
    argumentsJson: JSON.stringify(sampleJson({ type: 'object', ...schema })),
  }))
  const said = toolCalls.map(({ name, argumentsJson }) => name + argumentsJson).join('')
  const reasoning = buildReasoning(question)
  return {
    ...stamp,
    model: question.model,
    ...(reasoning && { reasoning }),
    text: '',
    toolCalls,
    finish: 'tool_calls',
    usage: countUsage(question, reasoning, said),
  }
}

function buildTextReply(question: ModelRequest, stamp: ReplyStamp): ModelReply {
  const reasoning = buildReasoning(question)
  const { maxTokens = Number.POSITIVE_INFINITY } = question
  const room = Math.max(0, maxTokens - countTokens(reasoning))
  const full = cutAtStop(buildText(question), question.stop)
  const fits = countTokens(full) <= room
  const text = fits ? full : truncateToTokens(full, room)
  return {
    ...stamp,
    model: question.model,
    ...(reasoning && { reasoning }),
    text,
    toolCalls: [],
    finish: fits ? 'stop' : 'length',
    usage: countUsage(question, reasoning, text),
  }
}

/** Empty where the question wants no thoughts. They count against the token limit, but are never cut. */
function buildReasoning({ wantsReasoning, userText }: ModelRequest): string {
  return wantsReasoning ? `The user said: "${userText}". I will say so.` : ''
}

function buildText(question: ModelRequest): string {
  const { replyFormat: output } = question
  switch (output.type) {
    case 'text':
      return buildProse(question)
    case 'json':
      return JSON.stringify({ you_said: question.userText, model: question.model })
    case 'schema':
      return JSON.stringify(sampleJson(output.schema))
  }
}

function buildProse({ toolResults, userText, model }: ModelRequest): string {
  const sentences = [
    ...toolResults.map((result) => `The tool answered: "${result}".`),
    `You said: "${userText}".`,
    `This is the sandbox, answering as ${model}.`,
  ]
  return sentences.join(' ')
}

function cutAtStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((sequence) => text.indexOf(sequence)).filter((index) => index !== -1)
  return text.slice(0, Math.min(text.length, ...ends))
}

function countUsage({ texts }: ModelRequest, reasoning: string, said: string): Usage {
  const thought = countTokens(reasoning)
  return { input: countTokens(texts.join('')), output: thought + countTokens(said), reasoning: thought }
}
