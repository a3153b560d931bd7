import type { Usage } from '../../core/contract/index.ts'
import { type Answer, chooseTools, type Question, type Stamp, type ToolOffer } from './model-request.ts'
import { sampleJson } from './sample-json.ts'
import { countTokens, takeTokens } from './tokens.ts'

/** The sandbox's answer to a question: always the same for the same question. */
export function answerQuestion(question: Question, stamp: Stamp): Answer {
  const tools = chooseTools(question)
  return tools.length > 0 ? callTools(question, tools, stamp) : speak(question, stamp)
}

/** The answer of a model that does not want to give one. */
export function refuseQuestion(question: Question, stamp: Stamp): Answer {
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

function callTools(question: Question, tools: readonly ToolOffer[], stamp: Stamp): Answer {
  const toolCalls = tools.map(({ name, schema }, index) => ({
    id: `call_${stamp.id}${index}`,
    name,
    json: JSON.stringify(sampleJson({ type: 'object', ...schema })),
  }))
  const said = toolCalls.map(({ name, json }) => name + json).join('')
  const reasoning = think(question)
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

function speak(question: Question, stamp: Stamp): Answer {
  const reasoning = think(question)
  const { maxTokens = Number.POSITIVE_INFINITY } = question
  const room = Math.max(0, maxTokens - countTokens(reasoning))
  const full = cutAtStop(compose(question), question.stop)
  const fits = countTokens(full) <= room
  const text = fits ? full : takeTokens(full, room)
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
function think({ wantsReasoning, userText }: Question): string {
  return wantsReasoning ? `The user said: "${userText}". I will say so.` : ''
}

function compose(question: Question): string {
  const { output } = question
  switch (output.type) {
    case 'text':
      return writeProse(question)
    case 'json':
      return JSON.stringify({ you_said: question.userText, model: question.model })
    case 'schema':
      return JSON.stringify(sampleJson(output.schema))
  }
}

function writeProse({ toolResults, userText, model }: Question): string {
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

function countUsage({ texts }: Question, reasoning: string, said: string): Usage {
  const thought = countTokens(reasoning)
  return { input: countTokens(texts.join('')), output: thought + countTokens(said), reasoning: thought }
}
