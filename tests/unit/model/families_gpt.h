/* families_gpt.h - decoders whose MLP has no gate, and parts of files: rows of families.h. */
#ifndef TY_TESTS_FAMILIES_GPT_H
#define TY_TESTS_FAMILIES_GPT_H

#include "tests/unit/model/families.h"

static const struct family_row gpt_families[] = {
    /* GPT and those after it */
    ROW("StarCoder 2 3B", starcoder2, 30, 3072, 24, 2, 128, 12288, 49152, "", EXACT(3030371328),
        ALL_BIASED, .tied = 1),
    ROW("StarCoder 2 7B", starcoder2, 32, 4608, 36, 4, 128, 18432, 49152, "", EXACT(7173923840),
        ALL_BIASED, .tied = 1),
    ROW("StarCoder 2 15B", starcoder2, 40, 6144, 48, 4, 128, 24576, 49152,
        ", \"tie_word_embeddings\": false", EXACT(15957889024), ALL_BIASED),
    ROW("Nemotron Mini 4B", nemotron, 32, 3072, 24, 8, 128, 9216, 256000, ", \"head_dim\": 128",
        ABOUT(4.19e9), .plain = 1, .shifts = 1),
    ROW("Nemotron-4 340B", nemotron, 96, 18432, 96, 8, 192, 73728, 256000, "", ABOUT(340e9),
        .plain = 1, .shifts = 1),
    ROW("Persimmon 8B", persimmon, 36, 4096, 64, 64, 64, 16384, 262144, "", ABOUT(9.4e9),
        ALL_BIASED, .qk_head = 2),
    ROW("Stable LM 3B", stablelm, 32, 2560, 32, 32, 80, 6912, 50304, ", \"use_qkv_bias\": false",
        EXACT(2795443200), .shifts = 1),
    ROW("Stable LM 2 1.6B", stablelm, 24, 2048, 32, 32, 64, 5632, 100352,
        ", \"use_qkv_bias\": true", EXACT(1644515328), .shifts = 1, .qkv_bias = 1),
    ROW("Stable LM 2 12B", stablelm, 40, 5120, 32, 8, 160, 13824, 100352,
        ", \"use_parallel_residual\": true, \"qk_layernorm\": true", ABOUT(12.1e9), .shifts = 1,
        .norms = 1, .qk_whole = 1),
    ROW("GPT-NeoX 20B", gpt_neox, 44, 6144, 64, 64, 96, 24576, 50432, "", EXACT(20554567680),
        ALL_BIASED),
    ROW("Pythia 70M", gpt_neox, 6, 512, 8, 8, 64, 2048, 50304, "", EXACT(70426624), ALL_BIASED),
    ROW("Pythia 1.4B", gpt_neox, 24, 2048, 16, 16, 128, 8192, 50304, "", EXACT(1414647808),
        ALL_BIASED),
    ROW("Pythia 6.9B", gpt_neox, 32, 4096, 32, 32, 128, 16384, 50432, "", EXACT(6857302016),
        ALL_BIASED),
    ROW("Pythia 12B", gpt_neox, 36, 5120, 40, 40, 128, 20480, 50688, "", EXACT(11846072320),
        ALL_BIASED),
    GPT2_ROW("GPT-2", gpt2, 12, 768, 12, 12, 3072, null, 50257, 1024, "", EXACT(124439808),
             ALL_BIASED, .tied = 1, .positions = 1024),
    GPT2_ROW("GPT-2 medium", gpt2, 24, 1024, 16, 16, 4096, null, 50257, 1024, "", EXACT(354823168),
             ALL_BIASED, .tied = 1, .positions = 1024),
    GPT2_ROW("GPT-2 large", gpt2, 36, 1280, 20, 20, 5120, null, 50257, 1024, "", EXACT(774030080),
             ALL_BIASED, .tied = 1, .positions = 1024),
    GPT2_ROW("GPT-2 XL", gpt2, 48, 1600, 25, 25, 6400, null, 50257, 1024, "", EXACT(1557611200),
             ALL_BIASED, .tied = 1, .positions = 1024),
    GPT2_ROW("Cerebras-GPT 13B", gpt2, 40, 5120, 40, 40, 20480, null, 50257, 2048, "",
             ABOUT(12.85e9), ALL_BIASED, .tied = 1, .positions = 2048),
    GPT2_ROW("SantaCoder", gpt_bigcode, 24, 2048, 16, 1, 8192, null, 49280, 2048, "",
             EXACT(1124886528), ALL_BIASED, .tied = 1, .positions = 2048),
    GPT2_ROW("StarCoder", gpt_bigcode, 40, 6144, 48, 1, 24576, null, 49152, 8192, "",
             EXACT(15517456384), ALL_BIASED, .tied = 1, .positions = 8192),
    GPT2_ROW(
        "SantaCoder, first files", gpt2, 24, 2048, 16, 1, 8192, null, 49280, 2048,
        ", \"architectures\": [\"GPT2LMHeadCustomModel\"], \"attention_head_type\": \"multiquery\"",
        EXACT(1124886528), ALL_BIASED, .tied = 1, .positions = 2048),
    GPT2_ROW("GPT-J 6B", gptj, 28, 4096, 16, 16, 16384, null, 50400, 2048, "", EXACT(6050882784),
             .plain = 1, .shifts = 1, .mlp_bias = 1, .norms = 1, .head_bias = 1),
    GPT2_ROW("CodeGen 350M", codegen, 20, 1024, 16, 16, 4096, null, 51200, 2048, "",
             EXACT(356712448), .plain = 1, .shifts = 1, .mlp_bias = 1, .norms = 1, .head_bias = 1),
    GPT2_ROW("Jais 13B", jais, 40, 5120, 40, 40, 13653, 13653, 84992, 2048,
             ", \"activation_function\": \"swiglu\", \"position_embedding_type\": \"alibi\"",
             ABOUT(13e9), .shifts = 1, .attention_bias = 1, .mlp_bias = 1, .tied = 1),
    {"GPT-Neo 125M",
     "{\"model_type\": \"gpt_neo\", \"num_layers\": 12, \"hidden_size\": 768, \"num_heads\": 12, "
     "\"intermediate_size\": null, \"max_position_embeddings\": 2048, \"vocab_size\": 50257}",
     {12, 768, 12, 12, 64, 3072, 50257, .plain = 1, .shifts = 1, .proj_bias = 1, .mlp_bias = 1,
      .tied = 1, .positions = 2048},
     EXACT(125198592)},
    {"GPT-Neo 1.3B",
     "{\"model_type\": \"gpt_neo\", \"num_layers\": 24, \"hidden_size\": 2048, \"num_heads\": 16, "
     "\"intermediate_size\": null, \"max_position_embeddings\": 2048, \"vocab_size\": 50257}",
     {24, 2048, 16, 16, 128, 8192, 50257, .plain = 1, .shifts = 1, .proj_bias = 1, .mlp_bias = 1,
      .tied = 1, .positions = 2048},
     EXACT(1315575808)},
    {"GPT-Neo 2.7B",
     "{\"model_type\": \"gpt_neo\", \"num_layers\": 32, \"hidden_size\": 2560, \"num_heads\": 20, "
     "\"intermediate_size\": null, \"max_position_embeddings\": 2048, \"vocab_size\": 50257}",
     {32, 2560, 20, 20, 128, 10240, 50257, .plain = 1, .shifts = 1, .proj_bias = 1, .mlp_bias = 1,
      .tied = 1, .positions = 2048},
     EXACT(2651307520)},
    {"BLOOM 560M",
     "{\"model_type\": \"bloom\", \"n_layer\": 24, \"hidden_size\": 1024, \"n_head\": 16, "
     "\"vocab_size\": 250880}",
     {24, 1024, 16, 16, 64, 4096, 250880, ALL_BIASED, .tied = 1, .embedding_norm = 1},
     EXACT(559214592)},
    {"BLOOM 7.1B",
     "{\"model_type\": \"bloom\", \"n_layer\": 30, \"n_embed\": 4096, \"num_attention_heads\": 32, "
     "\"vocab_size\": 250880}",
     {30, 4096, 32, 32, 128, 16384, 250880, ALL_BIASED, .tied = 1, .embedding_norm = 1},
     EXACT(7069016064)},
    {"BLOOM 176B",
     "{\"model_type\": \"bloom\", \"n_layer\": 70, \"n_embed\": 14336, \"num_attention_heads\": "
     "112, \"vocab_size\": 250880}",
     {70, 14336, 112, 112, 128, 57344, 250880, ALL_BIASED, .tied = 1, .embedding_norm = 1},
     EXACT(176247271424)},
    {"OPT 125M",
     "{\"model_type\": \"opt\", \"num_hidden_layers\": 12, \"hidden_size\": 768, "
     "\"num_attention_heads\": 12, \"ffn_dim\": 3072, \"max_position_embeddings\": 2048, "
     "\"word_embed_proj_dim\": 768, \"vocab_size\": 50272}",
     {12, 768, 12, 12, 64, 3072, 50272, ALL_BIASED, .tied = 1, .positions = 2050},
     EXACT(125239296)},
    {"OPT 1.3B",
     "{\"model_type\": \"opt\", \"num_hidden_layers\": 24, \"hidden_size\": 2048, "
     "\"num_attention_heads\": 32, \"ffn_dim\": 8192, \"max_position_embeddings\": 2048, "
     "\"word_embed_proj_dim\": 2048, \"vocab_size\": 50272}",
     {24, 2048, 32, 32, 64, 8192, 50272, ALL_BIASED, .tied = 1, .positions = 2050},
     EXACT(1315758080)},
    {"OPT 6.7B",
     "{\"model_type\": \"opt\", \"num_hidden_layers\": 32, \"hidden_size\": 4096, "
     "\"num_attention_heads\": 32, \"ffn_dim\": 16384, \"max_position_embeddings\": 2048, "
     "\"word_embed_proj_dim\": 4096, \"vocab_size\": 50272}",
     {32, 4096, 32, 32, 128, 16384, 50272, ALL_BIASED, .tied = 1, .positions = 2050},
     EXACT(6658473984)},
    {"OPT 66B",
     "{\"model_type\": \"opt\", \"num_hidden_layers\": 64, \"hidden_size\": 9216, "
     "\"num_attention_heads\": 72, \"ffn_dim\": 36864, \"max_position_embeddings\": 2048, "
     "\"word_embed_proj_dim\": 9216, \"vocab_size\": 50272}",
     {64, 9216, 72, 72, 128, 36864, 50272, ALL_BIASED, .tied = 1, .positions = 2050},
     ABOUT(66e9)},
    {"Falcon 7B",
     "{\"model_type\": \"falcon\", \"num_hidden_layers\": 32, \"hidden_size\": 4544, "
     "\"num_attention_heads\": 71, \"vocab_size\": 65024, \"multi_query\": true, "
     "\"parallel_attn\": true, \"bias\": false}",
     {32, 4544, 71, 1, 64, 18176, 65024, .plain = 1, .shifts = 1, .tied = 1, .norms = 1},
     EXACT(6921720704)},
    {"Falcon 7B, first files",
     "{\"model_type\": \"RefinedWebModel\", \"architectures\": [\"RWForCausalLM\"], \"n_layer\": "
     "32, \"hidden_size\": 4544, \"n_head\": 71, \"vocab_size\": 65024, \"multi_query\": true, "
     "\"parallel_attn\": true, \"bias\": false}",
     {32, 4544, 71, 1, 64, 18176, 65024, .plain = 1, .shifts = 1, .tied = 1, .norms = 1},
     EXACT(6921720704)},
    {"Falcon 40B",
     "{\"model_type\": \"falcon\", \"num_hidden_layers\": 60, \"hidden_size\": 8192, "
     "\"num_attention_heads\": 128, \"vocab_size\": 65024, \"new_decoder_architecture\": true, "
     "\"num_kv_heads\": 8, \"bias\": false}",
     {60, 8192, 128, 8, 64, 32768, 65024, .plain = 1, .shifts = 1, .tied = 1},
     EXACT(41303293952)},
    {"Falcon 40B, first files",
     "{\"model_type\": \"RefinedWeb\", \"architectures\": [\"RWForCausalLM\"], \"n_layer\": 60, "
     "\"hidden_size\": 8192, \"n_head\": 128, \"n_head_kv\": 8, \"vocab_size\": 65024, "
     "\"parallel_attn\": true, \"bias\": false}",
     {60, 8192, 128, 8, 64, 32768, 65024, .plain = 1, .shifts = 1, .tied = 1},
     EXACT(41303293952)},
    {"Falcon 180B",
     "{\"model_type\": \"falcon\", \"num_hidden_layers\": 80, \"hidden_size\": 14848, "
     "\"num_attention_heads\": 232, \"vocab_size\": 65024, \"new_decoder_architecture\": true, "
     "\"num_kv_heads\": 8, \"bias\": false}",
     {80, 14848, 232, 8, 64, 59392, 65024, .plain = 1, .shifts = 1, .tied = 1},
     ABOUT(180e9)},
    {"Falcon RW 1B",
     "{\"model_type\": \"falcon\", \"num_hidden_layers\": 24, \"hidden_size\": 2048, "
     "\"num_attention_heads\": 32, \"vocab_size\": 50304, \"multi_query\": false, "
     "\"parallel_attn\": false, \"alibi\": true, \"bias\": true}",
     {24, 2048, 32, 32, 64, 8192, 50304, ALL_BIASED, .tied = 1},
     EXACT(1311625216)},
    {"Falcon 2 11B",
     "{\"model_type\": \"falcon\", \"num_hidden_layers\": 60, \"hidden_size\": 4096, "
     "\"num_attention_heads\": 32, \"vocab_size\": 65024, \"new_decoder_architecture\": true, "
     "\"num_kv_heads\": 8, \"num_ln_in_parallel_attn\": 1, \"ffn_hidden_size\": 16384, \"bias\": "
     "false, \"tie_word_embeddings\": false}",
     {60, 4096, 32, 8, 128, 16384, 65024, .plain = 1, .shifts = 1, .norms = 1},
     ABOUT(11.1e9)},
    {"MPT 7B",
     "{\"model_type\": \"mpt\", \"n_layers\": 32, \"d_model\": 4096, \"n_heads\": 32, "
     "\"expansion_ratio\": 4, \"attn_config\": {\"alibi\": true}, \"no_bias\": true, "
     "\"vocab_size\": 50432}",
     {32, 4096, 32, 32, 128, 16384, 50432, .plain = 1, .tied = 1},
     EXACT(6649286656)},
    {"MPT 30B",
     "{\"model_type\": \"mpt\", \"n_layers\": 48, \"d_model\": 7168, \"n_heads\": 64, "
     "\"expansion_ratio\": 4, \"attn_config\": {\"alibi\": true}, \"no_bias\": true, "
     "\"vocab_size\": 50432}",
     {48, 7168, 64, 64, 112, 28672, 50432, .plain = 1, .tied = 1},
     ABOUT(30e9)},
    {"XGLM 564M",
     "{\"model_type\": \"xglm\", \"num_layers\": 24, \"d_model\": 1024, \"attention_heads\": 16, "
     "\"ffn_dim\": 4096, \"vocab_size\": 256008}",
     {24, 1024, 16, 16, 64, 4096, 256008, ALL_BIASED, .tied = 1},
     EXACT(564463616)},
    ROW("BioGPT", biogpt, 24, 1024, 16, 16, 64, 4096, 42384, ", \"max_position_embeddings\": 1024",
        EXACT(346763264), ALL_BIASED, .tied = 1, .positions = 1026),
    {"ChatGLM3 6B",
     "{\"model_type\": \"chatglm\", \"architectures\": [\"ChatGLMModel\"], \"num_layers\": 28, "
     "\"hidden_size\": 4096, \"num_attention_heads\": 32, \"kv_channels\": 128, "
     "\"multi_query_attention\": true, \"multi_query_group_num\": 2, \"ffn_hidden_size\": 13696, "
     "\"padded_vocab_size\": 65024, \"add_bias_linear\": false, \"add_qkv_bias\": true}",
     {28, 4096, 32, 2, 128, 13696, 65024, .qkv_bias = 1},
     EXACT(6243584000)},
    {"EXAONE 3.5 7.8B",
     "{\"model_type\": \"exaone\", \"num_layers\": 32, \"hidden_size\": 4096, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 14336, "
     "\"vocab_size\": 102400}",
     {32, 4096, 32, 8, 128, 14336, 102400, AS_USUAL},
     EXACT(7818448896)},
    {"Granite 4.0 Micro",
     "{\"model_type\": \"granitemoehybrid\", \"num_hidden_layers\": 2, \"layer_types\": "
     "[\"attention\", \"attention\"], \"hidden_size\": 2560, \"num_attention_heads\": 40, "
     "\"num_key_value_heads\": 8, \"intermediate_size\": 8192, \"shared_intermediate_size\": 8192, "
     "\"num_local_experts\": 0, \"num_experts_per_tok\": 0, \"position_embedding_type\": \"rope\", "
     "\"vocab_size\": 100352, \"tie_word_embeddings\": true}",
     {2, 2560, 40, 8, 64, 8192, 100352, .tied = 1},
     NOT_SAID},
    /* decoders in files of models that see */
    {"LLaVA 1.5 7B",
     "{\"model_type\": \"llava\", \"architectures\": [\"LlavaForConditionalGeneration\"], "
     "\"text_config\": {\"model_type\": \"llama\", \"vocab_size\": 32064}, \"vision_config\": "
     "{\"hidden_size\": 1024}}",
     {32, 4096, 32, 32, 128, 11008, 32064, AS_USUAL},
     EXACT(6738939904)},
    {"Gemma 3 4B",
     "{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", "
     "\"hidden_size\": 2560, \"intermediate_size\": 10240, \"num_hidden_layers\": 34, "
     "\"sliding_window\": 1024}}",
     {34, 2560, 8, 4, 256, 10240, 262208, .tied = 1, .norms = 4, .qk_head = 1},
     ABOUT(3.88e9)},
    {"a tied whole",
     "{\"model_type\": \"qwen3_vl\", \"tie_word_embeddings\": true, \"text_config\": "
     "{\"model_type\": \"qwen3_vl_text\", \"hidden_size\": 2560, \"intermediate_size\": 9728, "
     "\"num_hidden_layers\": 36, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
     "\"vocab_size\": 151936}}",
     {36, 2560, 32, 8, 128, 9728, 151936, .qk_head = 1, .tied = 1},
     EXACT(4022468096)},
    {"GLM-4.1V 9B",
     "{\"model_type\": \"glm4v\", \"text_config\": {\"model_type\": \"glm4v_text\", "
     "\"hidden_size\": 4096, \"num_hidden_layers\": 40, \"num_attention_heads\": 32, "
     "\"num_key_value_heads\": 2, \"intermediate_size\": 13696, \"vocab_size\": 151552}}",
     {40, 4096, 32, 2, 128, 13696, 151552, .qkv_bias = 1, .norms = 4},
     EXACT(9400279040)},
};

#endif
