import type { Content, GenerateContentResponse, GenerationConfig, Tool, ToolConfig } from '@google/genai'
import type { GeminiBody } from '../../../../providers/gemini/wire.ts'

/** A type of the SDK in JSON: enums as strings, everything read-only. */
export type Wire<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Wire<T[Field]> | undefined }
      : T

/** The body of `generateContent`; the SDK itself spreads it over `GenerateContentParameters`. */
export type SdkBody = Wire<{
  contents: Content[]
  systemInstruction?: Content
  tools?: Tool[]
  toolConfig?: ToolConfig
  generationConfig?: GenerationConfig
}>

export type SdkResponse = Wire<Partial<GenerateContentResponse>>

/** `Ours` with type `never` for all fields that `Theirs` does not have. */
export type Known<Ours, Theirs> = Ours extends readonly (infer Item)[]
  ? Theirs extends readonly (infer TheirItem)[]
    ? readonly Known<Item, TheirItem>[]
    : never
  : Ours extends object
    ? Theirs extends object
      ? {
          [Field in keyof Ours]: Field extends keyof Theirs
            ? Known<Ours[Field], NonNullable<Theirs[Field]>>
            : never
        }
      : Ours
    : Ours

/** Compare our wire types with the SDK's: these do not compile if a field or value is unknown to the SDK. */
export const asSdk = (body: GeminiBody): SdkBody => body
export const asKnown = (body: GeminiBody): Known<GeminiBody, SdkBody> => body
