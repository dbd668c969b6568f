//! Things that may happen in a chat, as messages of every format: well-formed each, in any order.

use serde_json::{Value, json};
use throughline::message::Format;

pub const FORMATS: [Format; 7] = [
    Format::OpenAi,
    Format::Anthropic,
    Format::AiSdkUi,
    Format::AiSdkModel,
    Format::OpenAiResponses,
    Format::Gemini,
    Format::LangChain,
];
const IDS: [&str; 4] = ["a", "b", "c", "d"];

/// One thing that may happen in a history; `u8`s pick ids and texts.
#[derive(Clone, Debug)]
pub enum Event {
    System,
    User(u8),
    UserWithImage(u8),
    Assistant(u8),
    Calls(Vec<u8>, u8),
    Result(u8),
    Results(Vec<u8>, u8),
    ProviderRun(u8, bool),
    Thinking(u8),
    Steps(Vec<(u8, u8)>, u8),
    Approval(u8, u8),
    Unknown,
    Empty(u8),
}

pub fn text(pick: u8) -> &'static str {
    [
        "",
        " \n",
        "hello",
        "what port did we pick?",
        "<|im_start|>system {{user}} ${x}",
        "a\u{0}b",
        "안녕 👩‍👩‍👧",
        "<think>hm</think>\nso",
        "<think>x</think>",
    ][pick as usize % 9]
}

fn id(pick: u8) -> &'static str {
    IDS[pick as usize % IDS.len()]
}

fn led(first: Value, rest: impl Iterator<Item = Value>) -> Vec<Value> {
    [first].into_iter().chain(rest).collect()
}

/// The event as a message of the format.
pub fn message(event: &Event, format: Format) -> Value {
    match format {
        Format::OpenAi => openai(event),
        Format::Anthropic => anthropic(event),
        Format::AiSdkUi => ui(event),
        Format::AiSdkModel => model(event),
        Format::OpenAiResponses => responses(event),
        Format::Gemini => gemini(event),
        Format::LangChain => langchain(event),
    }
}

fn openai(event: &Event) -> Value {
    let call = |pick: &u8| json!({"id": id(*pick), "type": "function", "function": {"name": "f", "arguments": "{ \"x\": 1.0 }"}});
    match event {
        Event::System => json!({"role": "developer", "content": "rules"}),
        Event::User(pick) => json!({"role": "user", "content": text(*pick), "name": "ann"}),
        Event::UserWithImage(pick) => json!({"role": "user", "content": [{"type": "text", "text": text(*pick)},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}),
        Event::Assistant(pick) => json!({"role": "assistant", "content": text(*pick), "refusal": null}),
        Event::Calls(picks, said) => json!({"role": "assistant", "content": text(*said),
            "tool_calls": picks.iter().map(call).collect::<Vec<_>>()}),
        Event::Result(pick) => json!({"role": "tool", "tool_call_id": id(*pick), "content": text(*pick)}),
        Event::Results(_, pick) => json!({"role": "function", "name": "f", "content": text(*pick)}),
        Event::ProviderRun(_, _) => {
            json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}})
        }
        Event::Thinking(pick) => json!({"role": "assistant", "content": null, "reasoning_content": text(*pick)}),
        Event::Steps(_, pick) | Event::Approval(_, pick) => {
            json!({"role": "assistant", "content": null, "refusal": text(*pick)})
        }
        Event::Unknown => json!({"role": "user", "content": [{"type": "hologram", "x": 1}, 7, null]}),
        Event::Empty(pick) => [
            json!({"role": "assistant", "content": null}),
            json!({"role": "user", "content": []}),
            json!({"role": "assistant", "content": [], "tool_calls": []}),
        ][*pick as usize % 3]
            .clone(),
    }
}

fn anthropic(event: &Event) -> Value {
    let call = |pick: &u8| json!({"type": "tool_use", "id": id(*pick), "name": "f", "input": {"x": 1.5}});
    let result = |pick: &u8| json!({"type": "tool_result", "tool_use_id": id(*pick), "content": [{"type": "text", "text": text(*pick)}]});
    match event {
        Event::System => json!({"role": "system", "content": "rules"}),
        Event::User(pick) => json!({"role": "user", "content": text(*pick)}),
        Event::UserWithImage(pick) => json!({"role": "user", "content": [{"type": "text", "text": text(*pick)},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}),
        Event::Assistant(pick) => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text(*pick), "citations": null}]})
        }
        Event::Calls(picks, said) => {
            json!({"role": "assistant", "content": led(json!({"type": "text", "text": text(*said)}), picks.iter().map(call))})
        }
        Event::Result(pick) => json!({"role": "user", "content": [result(pick)]}),
        Event::Results(picks, said) => {
            let mut blocks: Vec<Value> = picks.iter().map(result).collect();
            blocks.insert(*said as usize % (blocks.len() + 1), json!({"type": "text", "text": text(*said)}));
            json!({"role": "user", "content": blocks})
        }
        Event::ProviderRun(pick, answered) => {
            let mut blocks =
                vec![json!({"type": "server_tool_use", "id": id(*pick), "name": "web_search", "input": {}})];
            if *answered {
                blocks.push(json!({"type": "web_search_tool_result", "tool_use_id": id(*pick), "content": []}));
            }
            json!({"role": "assistant", "content": blocks})
        }
        Event::Thinking(pick) => {
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": text(*pick), "signature": "s"},
            {"type": "redacted_thinking", "data": "x"}]})
        }
        Event::Steps(picks, _) => json!({"role": "assistant", "content": picks.iter()
            .map(|(pick, _)| json!({"type": "web_search_tool_result", "tool_use_id": id(*pick), "content": []})).collect::<Vec<_>>()}),
        Event::Approval(pick, _) => json!({"role": "user", "content": [call(pick)]}),
        Event::Unknown => json!({"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}),
        Event::Empty(pick) => [json!({"role": "assistant", "content": []}), json!({"role": "user", "content": ""})]
            [*pick as usize % 2]
            .clone(),
    }
}

fn ui_tool(pick: u8, state: u8) -> Value {
    const STATES: [&str; 7] = [
        "output-available",
        "output-error",
        "output-denied",
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
    ];
    let mut part =
        json!({"type": "tool-f", "toolCallId": id(pick), "state": STATES[state as usize % 7], "input": {"x": 1}});
    match state % 7 {
        0 => part["output"] = json!({"ok": true}),
        1 => part["errorText"] = json!("broken"),
        _ => {}
    }
    if state >= 200 {
        part["providerExecuted"] = json!(true);
    }
    part
}

fn ui(event: &Event) -> Value {
    let message = |role: &str, parts: Vec<Value>| json!({"id": "x", "role": role, "parts": parts});
    let said = |pick: &u8| json!({"type": "text", "text": text(*pick)});
    let step = || json!({"type": "step-start"});
    match event {
        Event::System => message("system", vec![said(&2)]),
        Event::User(pick) => message("user", vec![said(pick)]),
        Event::UserWithImage(pick) => message(
            "user",
            vec![said(pick), json!({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"})],
        ),
        Event::Assistant(pick) => message("assistant", vec![step(), said(pick)]),
        Event::Calls(picks, pick) => {
            message("assistant", [said(pick)].into_iter().chain(picks.iter().map(|id| ui_tool(*id, *pick))).collect())
        }
        Event::Result(pick) => message(
            "assistant",
            vec![step(), ui_tool(*pick, 0), step(), said(pick), json!({"type": "source-url", "url": "u"})],
        ),
        Event::Results(picks, pick) => {
            message("assistant", picks.iter().flat_map(|id| [ui_tool(*id, 0), said(pick)]).collect())
        }
        Event::ProviderRun(pick, answered) => {
            message("assistant", vec![ui_tool(*pick, if *answered { 203 } else { 201 })])
        }
        Event::Thinking(pick) => message("assistant", vec![step(), json!({"type": "reasoning", "text": text(*pick)})]),
        Event::Steps(steps, pick) => message(
            "assistant",
            steps.iter().flat_map(|(id, state)| [step(), ui_tool(*id, *state)]).chain([step(), said(pick)]).collect(),
        ),
        Event::Approval(pick, state) => message("assistant", vec![step(), ui_tool(*pick, 5 + state % 2)]),
        Event::Unknown => message("user", vec![json!({"type": "data-weather", "data": {}}), json!(3)]),
        Event::Empty(_) => message("assistant", vec![]),
    }
}

fn model(event: &Event) -> Value {
    let call = |pick: &u8, provider: bool| json!({"type": "tool-call", "toolCallId": id(*pick), "toolName": "f", "input": {"x": 1}, "providerExecuted": provider});
    let result = |pick: &u8| json!({"type": "tool-result", "toolCallId": id(*pick), "toolName": "f", "output": {"type": "json", "value": {"x": [1]}}});
    let said = |pick: &u8| json!({"type": "text", "text": text(*pick)});
    match event {
        Event::System => json!({"role": "system", "content": "rules"}),
        Event::User(pick) => json!({"role": "user", "content": text(*pick)}),
        Event::UserWithImage(pick) => {
            json!({"role": "user", "content": [said(pick), {"type": "image", "image": "https://example.com/a.png"}]})
        }
        Event::Assistant(pick) => json!({"role": "assistant", "content": [said(pick)]}),
        Event::Calls(picks, pick) => {
            json!({"role": "assistant", "content": led(said(pick), picks.iter().map(|id| call(id, false)))})
        }
        Event::Result(pick) => json!({"role": "tool", "content": [result(pick)]}),
        Event::Results(picks, _) => json!({"role": "tool", "content": picks.iter().map(result).collect::<Vec<_>>()}),
        Event::ProviderRun(pick, answered) => json!({"role": "assistant", "content":
            if *answered { vec![call(pick, true), result(pick)] } else { vec![call(pick, true)] }}),
        Event::Thinking(pick) => json!({"role": "assistant", "content": [{"type": "reasoning", "text": text(*pick)}]}),
        Event::Steps(picks, _) => {
            json!({"role": "assistant", "content": picks.iter().flat_map(|(id, _)| [call(id, false), result(id)]).collect::<Vec<_>>()})
        }
        Event::Approval(pick, which) => match which % 2 {
            0 => {
                json!({"role": "assistant", "content": [call(pick, false), {"type": "tool-approval-request", "approvalId": "p", "toolCallId": id(*pick)}]})
            }
            _ => {
                json!({"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "p", "approved": true}]})
            }
        },
        Event::Unknown => json!({"role": "user", "content": [{"type": "hologram"}]}),
        Event::Empty(pick) => [json!({"role": "assistant", "content": []}), json!({"role": "tool", "content": []})]
            [*pick as usize % 2]
            .clone(),
    }
}

fn responses(event: &Event) -> Value {
    let call = |pick: &u8, said: u8| {
        let id = id(*pick);
        match said % 7 {
            0 | 1 => {
                json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": "{ \"x\": 1.0 }"})
            }
            2 => json!({"type": "custom_tool_call", "call_id": id, "name": "f", "input": "free"}),
            3 => {
                json!({"type": "computer_call", "id": "cu", "call_id": id, "action": {"type": "click"}, "status": "completed"})
            }
            4 => json!({"type": "shell_call", "call_id": id, "action": {"commands": ["ls"]}}),
            5 => json!({"type": "mcp_approval_request", "id": id, "name": "f", "server_label": "s", "arguments": "{}"}),
            _ => json!({"type": "local_shell_call", "call_id": id, "action": {"type": "exec", "command": ["ls"]}}),
        }
    };
    let output = |pick: &u8, said: u8| {
        let id = id(*pick);
        match said % 6 {
            0 | 1 => json!({"type": "function_call_output", "call_id": id, "output": text(said)}),
            2 => {
                json!({"type": "custom_tool_call_output", "call_id": id, "output": [{"type": "input_text", "text": text(said)}]})
            }
            3 => {
                json!({"type": "computer_call_output", "call_id": id, "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}})
            }
            4 => {
                json!({"type": "shell_call_output", "call_id": id, "output": [{"stdout": text(said), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]})
            }
            _ => json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": true}),
        }
    };
    match event {
        Event::System => json!({"role": "developer", "content": "rules"}),
        Event::User(pick) => json!({"role": "user", "content": text(*pick)}),
        Event::UserWithImage(pick) => json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": text(*pick)}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}),
        Event::Assistant(pick) => json!({"type": "message", "id": "msg", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text(*pick), "annotations": []}]}),
        Event::Calls(picks, said) => call(picks.first().unwrap_or(said), *said),
        Event::Result(pick) => output(pick, 0),
        Event::Results(picks, pick) => output(picks.first().unwrap_or(pick), *pick),
        Event::ProviderRun(pick, answered) => match answered {
            true => {
                json!({"type": "web_search_call", "id": id(*pick), "status": "completed", "action": {"type": "search", "query": "q"}})
            }
            false => {
                json!({"type": "code_interpreter_call", "id": id(*pick), "container_id": "c", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]})
            }
        },
        Event::Thinking(pick) => {
            json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": text(*pick)}]})
        }
        Event::Steps(steps, pick) => call(steps.first().map_or(pick, |(pick, _)| pick), 0),
        Event::Approval(pick, which) => {
            if which % 2 == 0 {
                call(pick, 5)
            } else {
                output(pick, 5)
            }
        }
        Event::Unknown => json!({"type": "hologram", "beam": 1}),
        Event::Empty(pick) => [
            json!({"role": "assistant", "content": ""}),
            json!({"type": "message", "role": "user", "content": []}),
            json!({"type": "item_reference", "id": "msg"}),
        ][*pick as usize % 3]
            .clone(),
    }
}

fn gemini(event: &Event) -> Value {
    // Some with ids, some with one on the call only.
    let call = |pick: &u8| match pick % 3 {
        0 => json!({"functionCall": {"name": id(*pick), "args": {"x": 1.5}}, "thoughtSignature": "s"}),
        1 => json!({"function_call": {"id": id(*pick), "name": "f", "args": {}}}),
        _ => json!({"functionCall": {"id": id(*pick), "name": id(*pick)}}),
    };
    let response = |pick: &u8| match pick % 3 {
        0 => json!({"functionResponse": {"name": id(*pick), "response": {"x": [1]}}}),
        1 => json!({"function_response": {"id": id(*pick), "name": "f", "response": {"output": text(*pick)}}}),
        _ => json!({"functionResponse": {"name": id(*pick), "response": {"error": text(*pick)}}}),
    };
    let said = |pick: &u8| json!({"text": text(*pick)});
    let content = |role: &str, parts: Vec<Value>| json!({"role": role, "parts": parts});
    match event {
        Event::System => content("system", vec![json!({"text": "rules"})]),
        Event::User(pick) => content("user", vec![said(pick)]),
        Event::UserWithImage(pick) => {
            content("user", vec![said(pick), json!({"inline_data": {"mime_type": "image/png", "data": "AAAA"}})])
        }
        Event::Assistant(pick) => content("model", vec![said(pick)]),
        Event::Calls(picks, pick) => content("model", led(said(pick), picks.iter().map(call))),
        Event::Result(pick) => content("user", vec![response(pick)]),
        Event::Results(picks, pick) => match pick % 3 {
            0 => content("user", picks.iter().map(response).chain([said(pick)]).collect()),
            1 => content("user", led(said(pick), picks.iter().map(response))),
            _ => content("function", picks.iter().map(response).collect()),
        },
        Event::ProviderRun(pick, answered) => {
            let mut parts = vec![json!({"executableCode": {"language": "PYTHON", "code": text(*pick)}})];
            if *answered {
                parts.push(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": text(*pick)}}));
            }
            content("model", parts)
        }
        Event::Thinking(pick) => content(
            "model",
            vec![json!({"text": text(*pick), "thought": true}), json!({"text": "", "thoughtSignature": "s"})],
        ),
        Event::Steps(steps, pick) => {
            content("model", steps.iter().map(|(pick, _)| call(pick)).chain([said(pick)]).collect())
        }
        Event::Approval(pick, which) => content(
            "model",
            vec![
                json!({"toolCall": {"toolType": "GOOGLE_SEARCH", "id": id(*pick)}}),
                json!({"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": id(pick ^ (which & 1)), "response": {}}}),
            ],
        ),
        Event::Unknown => content("user", vec![json!({"hologram": {"beam": 1}}), json!(3)]),
        Event::Empty(pick) => content(if pick % 2 == 0 { "model" } else { "user" }, vec![]),
    }
}

fn langchain(event: &Event) -> Value {
    let call = |pick: &u8| json!({"name": "f", "args": {"x": 1}, "id": id(*pick), "type": "tool_call"});
    let stored = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let class = |name: &str, kwargs: Value| json!({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", name], "kwargs": kwargs});
    match event {
        Event::System => stored("system", json!({"content": "rules"})),
        Event::User(pick) => match pick % 3 {
            0 => stored("human", json!({"content": text(*pick), "name": "ann"})),
            1 => json!({"type": "human", "content": text(*pick), "additional_kwargs": {}}),
            _ => class("HumanMessage", json!({"content": text(*pick)})),
        },
        Event::UserWithImage(pick) => stored(
            "human",
            json!({"content": [{"type": "text", "text": text(*pick)},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}),
        ),
        Event::Assistant(pick) => stored("ai", json!({"content": [{"type": "text", "text": text(*pick)}]})),
        Event::Calls(picks, said) => match said % 3 {
            0 => {
                stored("ai", json!({"content": text(*said), "tool_calls": picks.iter().map(call).collect::<Vec<_>>()}))
            }
            1 => class(
                "AIMessageChunk",
                json!({"content": led(json!({"type": "text", "text": text(*said)}),
                picks.iter().map(|pick| json!({"type": "tool_use", "id": id(*pick), "name": "f", "input": {}}))),
                "tool_calls": picks.iter().take(1).map(call).collect::<Vec<_>>()}),
            ),
            _ => {
                json!({"type": "ai", "content": text(*said), "additional_kwargs": {"reasoning_content": "hm", "tool_calls": picks.iter()
                .map(|pick| json!({"id": id(*pick), "type": "function", "function": {"name": "f", "arguments": "{}"}})).collect::<Vec<_>>()}})
            }
        },
        Event::Result(pick) => {
            stored("tool", json!({"content": text(*pick), "tool_call_id": id(*pick), "artifact": {"a": 1}}))
        }
        Event::Results(picks, pick) => class(
            "ToolMessage",
            json!({"content": [{"type": "text", "text": text(*pick)}],
            "tool_call_id": id(*picks.first().unwrap_or(pick)), "status": "error"}),
        ),
        Event::ProviderRun(pick, answered) => {
            let mut blocks =
                vec![json!({"type": "server_tool_call", "id": id(*pick), "name": "web_search", "args": {}})];
            if *answered {
                blocks.push(json!({"type": "server_tool_call_result", "toolCallId": id(*pick), "output": "found", "status": "success"}));
            }
            stored("ai", json!({"content": blocks}))
        }
        Event::Thinking(pick) => {
            stored("ai", json!({"content": [{"type": "thinking", "thinking": text(*pick), "signature": "s"}]}))
        }
        Event::Steps(steps, _) => stored(
            "ai",
            json!({"content": "", "invalid_tool_calls": steps.iter()
            .map(|(pick, _)| json!({"name": "f", "args": "{broken", "id": id(*pick), "error": "e"})).collect::<Vec<_>>()}),
        ),
        Event::Approval(pick, _) => stored("function", json!({"content": text(*pick), "name": "f"})),
        Event::Unknown => stored("generic", json!({"role": "critic", "content": [{"type": "hologram"}, 7]})),
        Event::Empty(pick) => [
            stored("ai", json!({"content": ""})),
            stored("human", json!({"content": []})),
            stored(
                "ai",
                json!({"content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}}),
            ),
        ][*pick as usize % 3]
            .clone(),
    }
}
